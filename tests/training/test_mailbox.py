"""What a captured program leaves, and what happens where it cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_ascendenv.training import mailbox
from pytest_ascendenv.verdict import Fact, Unknown


class Strange:
    def __reduce__(self) -> Any:
        raise RuntimeError("not me")


def left(folder: Path, content: Any) -> Any:
    assert mailbox.put(str(folder), "report", content)
    return mailbox.take(str(folder), "report")


def test_records_and_plain_values_come_through(tmp_path: Path) -> None:
    assert mailbox.take(str(tmp_path), "report") is None
    content = [Fact("ranks", 8, "train.py:3"), {"a": (1, 2.5, None, {3})}]
    assert left(tmp_path, content) == content
    assert not mailbox.put(str(tmp_path), "report", "a second one")


@pytest.mark.parametrize("content", [Path("/data"), Strange(), lambda: 1], ids=["path", "raises", "lambda"])
def test_what_cannot_be_handed_over_is_unknown(tmp_path: Path, content: Any) -> None:
    with pytest.raises(Unknown, match="what was seen of the program"):
        left(tmp_path, [content])


def test_a_file_that_is_no_report_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "report").write_bytes(b"no pickle")
    with pytest.raises(Unknown, match="what was seen of the program"):
        mailbox.take(str(tmp_path), "report")
