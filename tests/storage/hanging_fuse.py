"""A FUSE file system that answers nothing after its mount: what a dead network file system looks like.

``python hanging_fuse.py MOUNTPOINT`` mounts, prints "mounted", and takes requests without answering until it is killed.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

INIT = 26
IN_HEADER = struct.Struct("<IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, padding
OUT_HEADER = struct.Struct("<IiQ")  # length, error, unique
INIT_OUT = struct.Struct("<IIIIHHIIHHI7I")  # version 7.31 and the limits, all unused here


def main(mount_point: str) -> None:
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"deadserver:/export", mount_point.encode(), b"fuse.hanging", 0, options.encode()) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    while True:
        request = os.read(fd, 1 << 17)
        _, opcode, unique, *_ = IN_HEADER.unpack_from(request)
        if opcode == INIT:
            body = INIT_OUT.pack(7, 31, 65536, 0, 12, 9, 65536, 1, 16, 0, *[0] * 8)
            os.write(fd, OUT_HEADER.pack(OUT_HEADER.size + len(body), 0, unique) + body)
            print("mounted", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
