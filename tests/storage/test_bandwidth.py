"""The speed of the disk: real measurements of a few MiB, and what becomes of each way in which they cannot be made."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from pytest_ascendenv.checks import load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import children, disk, lock
from pytest_ascendenv.probes.disk import Bandwidth, Refused
from pytest_ascendenv.verdict import Finding, Unknown, Verdict

MIB = 1024 * 1024
TRANSFER = Path(children.__file__).with_name("transfer.py")


def judge(env: AscendEnv, *args: object, **kwargs: object) -> Finding:
    check = load("local_storage")
    return check.judge(check.parse(*args, **{"size": "8 MiB", **kwargs}), env)


class Measured(AscendEnv):
    """This host, with a measurement that was made before."""

    def __init__(self, seen: Bandwidth | Refused) -> None:
        super().__init__()
        self.seen = seen

    def bandwidth(self, storage, mode, size):
        return self.seen


def rates(*gigabytes: float, method: str = "direct", counted: int | None = None) -> Bandwidth:
    return Bandwidth("write", tuple(g * 1e9 for g in gigabytes), method, 100 * MIB, counted, "3 x 32 MiB")


def hidden() -> Bandwidth:
    return dataclasses.replace(rates(9.0), hidden=True)


@pytest.fixture
def local(tmp_path):
    """A folder on a disk that can be measured."""
    seen = AscendEnv().storage(str(tmp_path))
    if not seen.is_local:
        pytest.skip(f"the tests' folder is on {seen.kind}, not on a disk")
    if seen.located.space.free < disk.RESERVE:
        pytest.skip("less than 2 GiB are free")
    return tmp_path


def comparable(mode, folder) -> bool:
    seen = disk.write(AscendEnv().host, AscendEnv().storage(str(folder)), 8 * MIB)
    return isinstance(seen, Bandwidth) and not seen.doubt


def test_writing_is_measured_and_nothing_is_left(local):
    if not comparable("write", local):
        pytest.skip("this file system has no direct I/O")
    finding = judge(AscendEnv(), local, write="1 MB/s")
    assert finding.verdict is Verdict.PASS
    speed = finding.evidence[-1]
    assert speed.name == f"write speed of {local}"
    assert "median of 3" in speed.value
    assert speed.source == "3 x 8 MiB or 2 s, blocks of 1 MiB, direct"
    assert os.listdir(local) == []


def test_a_floor_that_no_disk_reaches_fails(local):
    if not comparable("write", local):
        pytest.skip("this file system has no direct I/O")
    finding = judge(AscendEnv(), local, write="90 TB/s")
    assert finding.verdict is Verdict.FAIL
    assert "writes" in finding.found
    assert "iostat" in finding.fix


def test_reading_takes_the_users_own_files(local):
    (local / "train.mindrecord").write_bytes(os.urandom(12 * MIB))
    os.sync()
    before = (local / "train.mindrecord").stat()
    try:
        finding = judge(AscendEnv(), local, read="1 MB/s")
    except Unknown as unknown:
        pytest.skip(f"this file system has no direct I/O: {unknown}")
    assert finding.verdict is Verdict.PASS
    assert f"{local} reads" in finding.found
    assert (local / "train.mindrecord").stat().st_mtime_ns == before.st_mtime_ns
    assert os.listdir(local) == ["train.mindrecord"]


def test_a_read_test_without_big_files_could_not_tell(tmp_path):
    (tmp_path / "small").write_bytes(b"x" * 1000)
    env = AscendEnv()
    with pytest.raises(Unknown, match="no file of at least 2 MiB"):
        disk.read(env.host, env.storage(str(tmp_path)))


def test_fails_only_if_the_best_run_is_too_slow(tmp_path, here):
    if here not in ("local-ssd", "local-hdd", "local-unknown"):
        pytest.skip(f"the tests' folder is on {here}")
    assert judge(Measured(rates(0.7, 0.8, 0.9)), tmp_path, write="1 GB/s").verdict is Verdict.FAIL
    noisy = judge(Measured(rates(0.7, 0.8, 1.1)), tmp_path, write="1 GB/s")
    assert noisy.verdict is Verdict.PASS
    assert any("the median is below 1.00 GB/s" in note for note in noisy.notes)
    steady = judge(Measured(rates(1.2, 1.3, 1.1)), tmp_path, write="1 GB/s")
    assert not any("median is below" in note for note in steady.notes)


@pytest.mark.parametrize(
    "seen", [rates(9.0, method="buffered"), rates(9.0, 9.0, counted=MIB), rates(0.1, counted=0), hidden()]
)
def test_what_a_cache_had_a_part_in_is_told_and_not_compared(tmp_path, here, seen):
    if here not in ("local-ssd", "local-hdd", "local-unknown"):
        pytest.skip(f"the tests' folder is on {here}")
    with pytest.raises(Unknown, match=r"page cache.*not compared with 1\.00 GB/s"):
        judge(Measured(seen), tmp_path, write="1 GB/s")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("EROFS", "mounted read-only"),
        ("ENOSPC", "the disk is full"),
        ("EDQUOT", "quota is used up"),
        ("EACCES", "no permission"),
    ],
)
def test_each_refusal_is_its_own_failure(tmp_path, here, error, cause):
    if here not in ("local-ssd", "local-hdd", "local-unknown"):
        pytest.skip(f"the tests' folder is on {here}")
    finding = judge(Measured(Refused(error, "the system's words")), tmp_path, write="1 GB/s")
    assert finding.verdict is Verdict.FAIL
    assert cause in finding.found
    assert "the system's words" in finding.found
    assert finding.fix


@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not installed")
def test_direct_writes_that_end_in_a_page_cache_are_found_out(mounts, here):
    """A loop device takes O_DIRECT and writes to the page cache of the file system below: faster than the disk is."""
    if here not in ("local-ssd", "local-hdd", "local-unknown"):
        pytest.skip(f"the tests' folder is on {here}")
    program = f"""
        import json
        from pytest_ascendenv.environment import AscendEnv
        from pytest_ascendenv.probes import disk
        env = AscendEnv()
        seen = disk.write(env.host, env.storage("{mounts.work}/disk"), 8 << 20)
        print(json.dumps([seen.method, seen.doubt]))
        """
    image = "truncate -s 4G image; mkfs.ext4 -q -F image; mkdir disk; mount -o loop image disk"
    method, doubt = mounts.run(image, program)
    assert method == "direct"
    assert "page cache below" in doubt


def test_memory_is_not_measured_as_a_disk():
    accepted = AscendEnv(declared=Declared(treat_as={"/dev/shm": "local-ssd"}))
    with pytest.raises(Unknown, match="in memory: a disk's write speed does not apply"):
        judge(accepted, "/dev/shm", write="1 GB/s")
    assert judge(accepted, "/dev/shm").verdict is Verdict.PASS


def test_remote_storage_is_not_measured(tree):
    tree.mounts("40 20 0:52 / /data rw - nfs4 filer:/export rw")
    finding = judge(tree.env(), "/data", write="1 GB/s")
    assert finding.verdict is Verdict.FAIL
    assert not any("speed" in fact.name for fact in finding.evidence)


def test_units_as_people_write_them():
    parse = load("local_storage").parse
    wanted = {"1 GB/s": 1e9, "1GB/s": 1e9, "900 MiB/s": 900 * MIB, "1.5 GiB/s": 1.5 * 2**30, "500 kB/s": 5e5}
    for text, number in wanted.items():
        assert parse(write=text).speeds == (("write", number),)
    for wrong in ("1 GB", "1 Gb/s", "fast", "-1 GB/s", "0 GB/s", 1000, ["1 GB/s"]):
        with pytest.raises(ValueError, match="write must be a text such as"):
            parse(write=wrong)
    with pytest.raises(ValueError, match="size must be from 4 MiB to 1 GiB"):
        parse(size="2 GiB")


def test_a_disk_with_little_room_is_not_filled(mounts):
    """A full one is refused by the system; one that measuring would fill is left alone."""
    program = f"""
        import json, os
        from pytest_ascendenv.environment import AscendEnv
        from pytest_ascendenv.probes import disk
        from pytest_ascendenv.verdict import Unknown
        env = AscendEnv()
        try:
            disk.write(env.host, env.storage("{mounts.work}/room"))
        except Unknown as unknown:
            few = str(unknown)
        open("{mounts.work}/room/filler", "wb").write(bytes(1 << 20))
        full = disk.write(env.host, env.storage("{mounts.work}/room"))
        print(json.dumps([few, full.error]))
        """
    few, error = mounts.run("mkdir room; mount -t tmpfs -o size=1m x room", program)
    assert "0 MiB are free" in few or "1 MiB are free" in few
    assert "must be" in few
    assert error == "ENOSPC"


def test_a_read_only_mount_and_a_folder_of_another_user(mounts):
    program = f"""
        import json
        from pytest_ascendenv.environment import AscendEnv
        from pytest_ascendenv.probes import disk
        env = AscendEnv()
        folders = [env.storage("{mounts.work}/" + name) for name in ("fixed", "theirs")]
        print(json.dumps([disk.write(env.host, folder, 8 << 20).error for folder in folders]))
        """
    setup = "mkdir fixed theirs; mount --bind fixed fixed; mount -o remount,ro,bind fixed; chown 65534 theirs;"
    setup += 'exec setpriv --bounding-set=-dac_override "$PYTHON" "$PROGRAM"'
    assert mounts.run(setup, program) == ["EROFS", "EACCES"]


def test_a_killed_measurement_leaves_nothing(local):
    order = f'{{"mode": "write", "path": "{local}", "runs": 100, "bytes": 67108864, "seconds": 1}}'
    child = subprocess.Popen([sys.executable, "-I", "-S", str(TRANSFER), order])
    try:
        while not links(child.pid, local):
            assert child.poll() is None
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
    assert os.listdir(local) == []


def test_an_interrupted_measurement_leaves_nothing(local):
    """As after Ctrl-C in the gate: the child that writes is ended too, though it is in a session of its own."""
    program = f"""
        from pytest_ascendenv.environment import AscendEnv
        from pytest_ascendenv.probes import disk
        disk.RUNS = 50
        env = AscendEnv()
        disk.write(env.host, env.storage({str(local)!r}), 64 << 20)
        """
    gate = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stderr=subprocess.DEVNULL)
    try:
        while not (writing := [pid for pid in children_of(gate.pid) if links(pid, local)]):
            assert gate.poll() is None
        gate.send_signal(signal.SIGINT)
        gate.wait(timeout=20)
    finally:
        gate.kill()
        gate.wait()
    assert ended(writing[0], seconds=20)
    assert os.listdir(local) == []


def ended(pid: int, seconds: float) -> bool:
    """The process is gone, or only waits for init to take note; a disk that is slow to answer delays a killed one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def links(pid: int, folder: Path) -> list[str]:
    """The open descriptors of a process that lead into ``folder``."""
    found = []
    with contextlib.suppress(FileNotFoundError):  # a child that has just ended
        for name in os.listdir(f"/proc/{pid}/fd"):
            link = f"/proc/{pid}/fd/{name}"
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(link).startswith(str(folder)):
                    found.append(link)
    return found


def test_one_measurement_at_a_time():
    with lock.measuring("the first"):
        with pytest.raises(Unknown, match="the second: another measurement has been running on this host for 0 s"):
            with lock.measuring("the second", seconds=0):
                pass
        waiter = threading.Thread(target=wait_for_lock)
        waiter.start()
    waiter.join(timeout=10)
    assert not waiter.is_alive()


def wait_for_lock() -> None:
    with lock.measuring("the third"):
        pass


def test_the_lock_is_free_when_its_holder_is_killed():
    holder = (
        "from pytest_ascendenv.probes.lock import measuring\nwith measuring('x'): print('held', flush=True); input()"
    )
    child = subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    child.kill()
    child.communicate()
    with lock.measuring("the next", seconds=5):
        assert time.monotonic()
