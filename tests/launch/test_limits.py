"""Hostile scripts end within their limits with "could not tell"; nothing is executed, nothing else is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ascendenv.launch import read_launches
from pytest_ascendenv.verdict import Unknown

DOUBLE = "f%d() { if x; then f%d; else f%d; fi; }\n"
HOSTILE = {
    "recursion": "f() { f; }; f; python x.py",
    "mutual recursion": "f() { g; g; }; g() { f; f; }; f; python x.py",
    "source itself": "source run.sh; python x.py",
    "run itself": "bash run.sh; bash run.sh; python x.py",
    "doubling": "A=x; for i in {1..60}; do A=$A$A; done; python x.py $A",
    "braces": "python x.py {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}",
    "long sequence": "for i in {1..999999999}; do python x.py; done",
    "nested loops": "for a in {1..900}; do for b in {1..900}; do X=$((X+1)); done; done; python x.py",
    "nested substitutions": "A=" + "$(echo " * 300 + "x" + ")" * 300 + "\npython x.py $A",
    "nested brackets": "(" * 3000 + "python x.py" + ")" * 3000,
    "nested ifs": "if x; then " * 400 + "python x.py; " + "fi; " * 400,
    "arithmetic": "python x.py $((" + "(" * 5000 + "1" + ")" * 5000 + "))",
    "arithmetic recursion": "a=b; b=a; python x.py $((a))",
    "power": "python x.py $((2**999999999999))",
    "patterns": "A=" + "a" * 5000 + "\npython x.py ${A##*a*a*a*a*a*a*a*a*b} ${A//a*a*b/x}",
    "regular expression": "[[ " + "a" * 400 + " =~ (a+)+b ]]; python x.py",
    "many launches": "for a in {1..900}; do for b in {1..900}; do python x.py $a $b; done; done",
    "eval grows": 'A="eval \\"\\$A\\""; eval "$A"; python x.py',
    "branches double": "".join(DOUBLE % (n, n + 1, n + 1) for n in range(50)) + "f0\npython x.py",
    "fork bomb": ":(){ :|:& };:\npython x.py",
    "endless": "while :; do A=$A.; done; python x.py",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_ends_with_its_limits(name: str, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(HOSTILE[name])
    read = read_launches("run.sh", cwd=tmp_path)
    assert read.incomplete or read.notes or read.launches


def test_a_limit_says_could_not_tell(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("python a.py\nf() { f; }; f\npython b.py")
    read = read_launches("run.sh", cwd=tmp_path)
    assert "could not tell" in read.incomplete
    assert [launch.program for launch in read.launches] == ["a.py"]


def test_nothing_is_executed(tmp_path: Path) -> None:
    script = "touch a; echo x > b; $(touch c); `touch d`; eval 'touch e'; bash -c 'touch f'; python x.py"
    (tmp_path / "run.sh").write_text(script)
    read_launches("run.sh", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("﻿export A=1\npython x.py\n".encode(), "byte order mark"),
        (b"export A=1\r\npython \\\r\n x.py\r\n", "CRLF"),
        ("# 细绑核配置\nexport A=1\npython x.py".encode("gb18030"), "GB18030"),
        ("# 细绑核\nexport A=1\npython x.py".encode(), ""),
        (b"\xff\xfe" + "export A=1\npython x.py".encode("utf-16-le"), ""),
        (b"export A=1\0\npython x.py", "NUL"),
    ],
)
def test_encodings(data: bytes, note: str, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(data)
    read = read_launches("run.sh", cwd=tmp_path)
    assert note in "\n".join(read.notes)
    assert [(launch.program, launch.env["A"].value) for launch in read.launches] == [("x.py", "1")]


def test_a_script_of_a_megabyte(tmp_path: Path) -> None:
    filler = "# a comment that says nothing at all\n" * 27_000
    (tmp_path / "run.sh").write_text(f"{filler}export A=1\n{filler[:100]}\npython x.py\n")
    assert read_launches("run.sh", cwd=tmp_path).launches[0].env["A"].source == "run.sh:27001"


@pytest.mark.parametrize("name", ["missing.sh", ".", "/dev/zero"])
def test_a_script_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(Unknown):
        read_launches(name, cwd=tmp_path)


def test_parser_is_imported_when_a_script_is_read() -> None:
    code = "import sys, pytest_ascendenv.launch; sys.exit(any(m in sys.modules for m in ('tree_sitter', 'yaml')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
