import sys

import mindspore  # noqa: F401


def main():
    print("no data found")
    sys.exit(3)


main()
