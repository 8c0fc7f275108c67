import time


def wait_for_the_others():
    time.sleep(1000)


wait_for_the_others()
