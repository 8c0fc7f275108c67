"""small_files: the user's own files are opened and read, those in memory apart, and many small ones get advice."""

from __future__ import annotations

import os

import pytest

from pytest_ascendenv.checks import load
from pytest_ascendenv.declared import Declared
from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.probes import files
from pytest_ascendenv.probes.files import Files
from pytest_ascendenv.verdict import Finding, Unknown, Verdict


def judge(env: AscendEnv, *args: object, **kwargs: object) -> Finding:
    check = load("small_files")
    return check.judge(check.parse(*args, **kwargs), env)


class Seen(AscendEnv):
    """A dataset of many files, looked at before."""

    def __init__(self, cold: list[float], warm: list[float], count: int = 5000, size: int = 110_000) -> None:
        super().__init__(declared=Declared(data=["/data"]))
        self.sample = Files("/data", count, True, (size,) * 3, (), tuple(cold), tuple(warm), 1, 0)

    def files(self, path):
        return self.sample


@pytest.fixture
def data(tmp_path):
    for number in range(30):
        folder = tmp_path / f"class{number % 3}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(os.urandom(1000 * (number + 1)))
    (tmp_path / "link.jpg").symlink_to(tmp_path / "class0" / "0.jpg")
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


def test_all_files_below_a_folder_are_seen_with_their_sizes(data):
    seen = AscendEnv().files(str(data))
    assert (seen.count, seen.whole, seen.unread) == (31, True, 0)
    assert seen.sizes[0] == 1000
    assert seen.sizes[-1] == 30_000
    assert len(seen.cold) + len(seen.warm) == 31
    assert seen.read == sum(seen.sizes)


def test_files_just_written_are_in_memory_and_say_nothing_of_the_storage(data):
    with pytest.raises(Unknown, match="of 31 files were in memory already, so the storage was not measured"):
        judge(AscendEnv(), data)
    finding = judge(AscendEnv(), data, warm=True, p99="5 s")
    assert finding.verdict is Verdict.PASS
    assert "files/s over 31 files" in finding.found


def test_files_that_were_dropped_from_memory_are_measured(data):
    if AscendEnv().storage(str(data)).kind == "ram":
        pytest.skip("the tests' folder is in memory")
    paths = [path for path in data.rglob("*.jpg") if not path.is_symlink()]
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    seen = AscendEnv().files(str(data / "class1"))
    assert seen.cold  # how many is the kernel's business: reading one may bring its neighbours back
    assert judge(AscendEnv(), data / "class2", p99="5 s").verdict is Verdict.PASS


def test_one_in_a_hundred_may_be_slow():
    quick = judge(Seen([0.001] * 198 + [9.0, 9.0], []))
    assert quick.verdict is Verdict.PASS
    slow = judge(Seen([0.001] * 197 + [9.0] * 3, []))
    assert slow.verdict is Verdict.FAIL
    assert "p99 9.00 s" in slow.found
    assert "MindRecord" in slow.fix


def test_too_slow_even_from_memory_is_a_failure():
    assert judge(Seen([], [0.02] * 200)).verdict is Verdict.FAIL


def test_a_few_fetched_files_among_cached_ones_are_not_enough():
    with pytest.raises(Unknown, match="395 of 400 files were in memory"):
        judge(Seen([0.5] + [0.001] * 4, [0.001] * 395))


def test_many_small_files_get_the_advice_to_pack_them():
    many = judge(Seen([0.001] * 200, [], count=20_000))
    assert "20000 files, half of them below 107 KiB: pack them into MindRecord" in many.notes[0]
    assert judge(Seen([0.001] * 200, [], count=5000)).notes == ()
    assert judge(Seen([0.001] * 200, [], count=20_000, size=5_000_000)).notes == ()


def test_nothing_to_read_could_not_be_told(tmp_path):
    with pytest.raises(Unknown, match="there are none"):
        judge(AscendEnv(), tmp_path)
    with pytest.raises(Unknown, match="No such file or directory"):
        judge(AscendEnv(), tmp_path / "gone")
    with pytest.raises(Unknown, match="no path given"):
        judge(AscendEnv())


def test_the_declared_data_is_measured(data):
    env = AscendEnv(declared=Declared(data=[str(data)]))
    assert judge(env, warm=True, p99="5 s").evidence[0].name == f"files of {data}"


def test_times_as_people_write_them():
    parse = load("small_files").parse
    assert parse(p99="10 ms").p99 == pytest.approx(0.01)
    assert parse(p99="300 us").p99 == pytest.approx(0.0003)
    for wrong in ("10", 10, "10 minutes", "-1 ms"):
        with pytest.raises(ValueError, match="p99 must be a text such as"):
            parse(p99=wrong)
    with pytest.raises(ValueError, match="warm must be true or false"):
        parse(warm="yes")


def test_a_scan_is_bounded(data, monkeypatch):
    monkeypatch.setattr(files, "ENTRIES", 10)
    seen = AscendEnv().files(str(data))
    assert (seen.count, seen.whole) == (10, False)


def test_nearest_rank():
    hundred = list(range(1, 101))
    assert [files.percentile(hundred, share) for share in (0.5, 0.99, 1.0)] == [50, 99, 100]
    assert files.percentile([7], 0.99) == 7
