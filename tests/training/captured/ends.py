import mindspore  # noqa: F401

if __name__ == "__main__":
    print("nothing to do")
