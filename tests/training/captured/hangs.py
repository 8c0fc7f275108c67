import time


def wait_for_the_others():
    print("waiting for rank 1")
    time.sleep(1000)


wait_for_the_others()
