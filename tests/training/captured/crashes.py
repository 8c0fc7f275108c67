import ctypes


def read():
    ctypes.string_at(0)


read()
