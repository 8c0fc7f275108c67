"""Generated scripts: the interpreter and Bash agree on every combination the generator can think of."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import oracle

NAMES = st.sampled_from(["A", "B", "C", "LONG_name2"])
TEXTS = st.text(alphabet="ab1 ./-_:,=*'", max_size=8)
PLAIN = st.text(alphabet="ab1./-_:,=", min_size=1, max_size=6)
NUMBERS = st.integers(-9, 30)


def _double(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


OPERATORS = st.sampled_from(
    [
        *("", ":-d e", "-x", ":+y", "#a", "##*a", "%1", "%%.*", "/a/Z", "//b/"),
        *(":1", ":1:2", ": -2", "^^", ",,", "/#a/Q", "/%1/R"),
    ]
)
EXPANSION = (
    st.builds("${{{}{}}}".format, NAMES, OPERATORS)
    | st.builds("${{#{}}}".format, NAMES)
    | st.builds("${}".format, NAMES)
)
SIGNS = st.sampled_from(["+", "-", "*", "<", "==", "%7+", "&"])
ARITHMETIC = st.builds("$(({}{}{}))".format, NUMBERS, SIGNS, NUMBERS)
PIECE = st.one_of(
    PLAIN,
    TEXTS.map(_single),
    TEXTS.filter(lambda text: "'" not in text).map(_double),
    EXPANSION,
    EXPANSION.map('"{}"'.format),
    ARITHMETIC,
    PLAIN.map("$(echo {})".format),
    PLAIN.map("`echo {}`".format),
    st.sampled_from(["{x,y}", "{1..3}", "\\$"]),
)
WORD = st.lists(PIECE, min_size=1, max_size=3).map("".join)
ASSIGN = st.builds("{}{}={}".format, st.sampled_from(["", "export "]), NAMES, PIECE)
LAUNCH = st.lists(WORD, max_size=4).map(lambda words: " ".join(["python x.py", *words]))
TEST = st.one_of(
    st.builds('[ "${}" = {} ]'.format, NAMES, PLAIN),
    st.builds('[ -z "${}" ]'.format, NAMES),
    st.builds("[[ ${} == a* && 1 -lt {} ]]".format, NAMES, NUMBERS),
    st.builds("(( {} > {} ))".format, NUMBERS, NUMBERS),
)
SIMPLE = ASSIGN | LAUNCH | st.builds("unset {}".format, NAMES)
BODY = st.lists(SIMPLE, min_size=1, max_size=3).map("; ".join)
COMPOUND = st.one_of(
    st.builds("if {}; then {}; else {}; fi".format, TEST, BODY, BODY),
    st.builds("for i in {}; do {}; done".format, WORD, BODY),
    st.builds("for ((i=0; i<2; i++)); do {}; done".format, BODY),
    st.builds("{} && {}".format, TEST, SIMPLE),
    st.builds("{} || {}".format, TEST, SIMPLE),
    st.builds("( {} )".format, BODY),
    st.builds("f() {{ local A=z; {}; }}; f {}".format, BODY, WORD),
    st.builds("case ${} in a*) {};; *) {};; esac".format, NAMES, BODY, BODY),
)
SCRIPT = st.lists(SIMPLE | COMPOUND, min_size=1, max_size=5).map(
    lambda lines: "A=a1.b; B='x y'\n" + "\n".join(lines) + "\npython end.py $A $B"
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(SCRIPT)
def test_agrees_with_bash(script: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert oracle.disagreements(script, Path(folder)) == []
