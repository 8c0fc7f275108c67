"""Which commands start a program: launchers, the wrappers before them, the scripts they hand over to."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import sourcing
from pytest_ascendenv.launch.model import Launch, word
from pytest_ascendenv.launch.run import LAUNCHES, TooMuch
from pytest_ascendenv.launch.state import Variable
from pytest_ascendenv.launch.values import Hole, Value, combine, known, shorten, unknown
from pytest_ascendenv.launch.wrapping import Additions, asks, unwrap

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter

PYTHON = re.compile(r"python(\d(\.\d+)?)?$|pypy3?$")
SHELLS = frozenset(["bash", "sh", "dash", "zsh", "ksh"])
LAUNCHERS = frozenset(["torchrun", "msrun", "deepspeed", "torch_npu_run", "torchrun_npu", "horovodrun", "colossalai"])
SUBCOMMANDS = {"accelerate": "launch", "llamafactory-cli": "train", "swift": "sft", "xtuner": "train"}
AROUND = frozenset(["mpirun", "mpiexec", "orterun", "srun"])  # start another command, often a launcher or a script
MODULES = frozenset(["torch.distributed.launch", "torch.distributed.run", "torch_npu.distributed.launch", "deepspeed"])
UTILITIES = frozenset(
    ["pip", "venv", "json.tool", "http.server", "compileall", "zipfile", "site", "ensurepip", "tensorboard.main"]
)
REMOTE = frozenset(["ssh", "pdsh", "docker", "kubectl", "ray", "xargs", "parallel", "ansible"])

VALUELESS = frozenset(
    [
        *("--standalone", "--no-python", "--no_python", "--module", "-m", "--use_env", "--use-env"),
        *("--allow-run-as-root", "--oversubscribe", "--multi_gpu", "--use_deepspeed", "--use_fsdp"),
    ]
)


def handle(shell: Interpreter, words: list[Value]) -> bool:
    """Record the launch these words are, or follow the script they run; False where they are neither."""
    if asks(words):
        shell.emit(unknown(f"where {shorten(words[-1].guess or 'a program')} lies is only known at run time"))
        return True
    wrappers, additions, rest = unwrap(shell, words)
    name = _base(rest)
    if not name:
        return _hidden(shell, wrappers, rest)
    if name in SHELLS:
        return _shell(shell, rest[1:], wrappers, additions)
    if name in AROUND:
        return _around(shell, name, rest, wrappers, additions)
    if name in REMOTE:
        return _remote(shell, name, rest)
    launcher = recognised(rest)
    if launcher is not None:
        record(shell, launcher, rest, wrappers, additions)
        return True
    if name.endswith((".sh", ".bash")):
        return _script(shell, rest[0], rest[1:], wrappers, additions)
    if wrappers:
        from pytest_ascendenv.launch import simple

        simple.dispatch(shell, rest, [], "")
        return True
    return False


def _hidden(shell: Interpreter, wrappers: Sequence[str], rest: Sequence[Value]) -> bool:
    """Behind wrappers, a command that is not known may be a launch."""
    if wrappers and rest and rest[0].guess is None:
        shell.incomplete.append(f"the command behind {wrappers[-1]} at {shell.run.here()} is not known")
        return True
    return False


def _base(words: Sequence[Value]) -> str:
    return os.path.basename(words[0].guess or "") if words else ""


def recognised(words: Sequence[Value]) -> str | None:
    """The launcher's name, or None for a command that starts no program of the user's."""
    name = _base(words)
    second = words[1].guess if len(words) > 1 else None
    if name in LAUNCHERS or SUBCOMMANDS.get(name, 0) == second:
        return name
    if name.endswith(".py"):
        return "python" if name != "setup.py" else None
    if not PYTHON.match(name):
        return None
    at = python_program(words)
    if at is None:
        return None
    if words[at - 1].guess == "-m":
        module = words[at].guess or ""
        return (
            module
            if module in MODULES
            else (None if module.split(".")[0] in UTILITIES or module in UTILITIES else "python")
        )
    return "python" if os.path.basename(words[at].guess or "") != "setup.py" else None


def python_program(words: Sequence[Value]) -> int | None:
    """The index of the file or module that a python command runs."""
    at = 1
    while at < len(words):
        text = words[at].guess
        if text is None or not text.startswith("-"):
            return at
        if text == "-m":
            return at + 1 if at + 1 < len(words) else None
        if text in ("-c", "-", "-V", "--version", "-h", "--help"):
            return None
        at += 2 if text in ("-X", "-W") else 1
    return None


def program_at(launcher: str, words: Sequence[Value]) -> int | None:
    """The index of the program behind a launcher's options."""
    start = 1
    if launcher in MODULES:
        start = (python_program(words) or 1) + 1
    elif launcher == "python":
        return 0 if _base(words).endswith(".py") else python_program(words)
    for at in range(start, len(words)):
        text = words[at].guess or ""
        if text.endswith((".py", ".pyc")) and not text.startswith("-") and not _is_value(words, at):
            return at
        if text in ("-m", "--module") and at + 1 < len(words):
            return at + 1
    return _first_operand(launcher, words, start)


def _is_value(words: Sequence[Value], at: int) -> bool:
    return (words[at - 1].guess or "") in ("--config_file", "--config-file", "--log_dir", "--hostfile", "-H")


def _first_operand(launcher: str, words: Sequence[Value], start: int) -> int | None:
    at = start + (launcher in SUBCOMMANDS)
    while at < len(words):
        text = words[at].guess
        if text is None or text == "":
            at += 1
        elif text.startswith("-"):
            at += 1 if "=" in text or text in VALUELESS else 2
        elif PYTHON.match(os.path.basename(text)):
            at += 1
        else:
            return at
    return None


def record(
    shell: Interpreter,
    launcher: str,
    words: list[Value],
    wrappers: tuple[str, ...],
    additions: Additions,
) -> None:
    if len(shell.run.launches) >= LAUNCHES:
        raise TooMuch(f"more than {LAUNCHES} launches")
    at = program_at(launcher, words)
    environment = {name: (var.scalar, var.earlier) for name, var in shell.run.exported().items()}
    for name, added in additions.items():
        environment[name] = (added, ())
    words = [value if value.source else value.at(shell.run.here()) for value in words]
    if shell.run.mended:
        words = [doubted(value, shell.run.mended) for value in words]
        environment = {
            name: (value and doubted(value, shell.run.mended), old) for name, (value, old) in environment.items()
        }
    env = {name: word(value, earlier) for name, (value, earlier) in environment.items() if value is not None}
    conditions = [*shell.state.conditions]
    if not words[0].known:
        conditions.append(words[0].reason)
    shell.run.launches.append(
        Launch(
            launcher=launcher,
            program=None if at is None else words[at].guess,
            argv=tuple(word(value) for value in words),
            env=env,
            condition=" and ".join(dict.fromkeys(conditions)),
            source=shell.run.here(),
            wrappers=(*shell.around, *wrappers),
            cwd=shell.state.cwd.text,
            at=len(words) - 1 if at is None else at,
            doubts=(shell.state.taint,) if shell.state.taint else (),
        )
    )


def doubted(value: Value, reasons: Sequence[str]) -> Value:
    """A value that holds only once the file is converted."""
    why = combine([value.reason, *[f"the file is mended first ({reason})" for reason in reasons]])
    return Value((Hole(why, value.guess, value.splits),), value.source)


def _shell(shell: Interpreter, words: list[Value], wrappers: tuple[str, ...], additions: Additions) -> bool:
    while words and (words[0].guess or "").startswith(("-", "+")):
        option = words.pop(0).guess or ""
        if "c" in option[1:] and not option.startswith("--"):
            inside(shell, lambda: sourcing.text(shell, words[0], words[1:]), wrappers, additions) if words else None
            return True
        if option == "-s":
            return _from_input(shell, [each for each in words if each.text != "--"], wrappers, additions)
        if option in ("-o", "--rcfile", "--init-file") and words:
            words.pop(0)
    if words:
        return _script(shell, words[0], words[1:], wrappers, additions)
    return _from_input(shell, [], wrappers, additions)


def _from_input(shell: Interpreter, args: list[Value], wrappers: tuple[str, ...], additions: Additions) -> bool:
    """``bash -s args`` and a bare ``bash``: the script is what they read."""
    if shell.stdin is not None:
        stdin = shell.stdin
        inside(shell, lambda: sourcing.text(shell, stdin, [known("bash"), *args]), wrappers, additions)
    return True


def _script(
    shell: Interpreter, name: Value, args: list[Value], wrappers: tuple[str, ...], additions: Additions
) -> bool:
    inside(shell, lambda: sourcing.script(shell, name, args), wrappers, additions)
    return True


def inside(shell: Interpreter, action: object, wrappers: tuple[str, ...], additions: Additions) -> None:
    """Run a script below wrappers: its launches inherit them."""
    before, shell.around = shell.around, (*shell.around, *wrappers)
    saved = {name: shell.state.variables.get(name) for name in additions}
    for name, value in additions.items():
        if value is None:
            shell.state.variables[name] = Variable(unset=True)
            continue
        shell.run.assign(name, value)
        shell.run.export(name)
    try:
        action()  # type: ignore[operator]
    finally:
        shell.around = before
        for name, variable in saved.items():
            if variable is None:
                shell.state.variables.pop(name, None)
            else:
                shell.state.variables[name] = variable


def _around(shell: Interpreter, name: str, words: list[Value], wrappers: tuple[str, ...], additions: Additions) -> bool:
    """mpirun and srun: the command they start is the launch, or the script that holds it."""
    at = next((i for i in range(1, len(words)) if _starts(words[i])), None)
    forwarded = {**additions, **_forwarded(words[: at or len(words)])}
    if at is None:
        record(shell, name, words, wrappers, forwarded)
        return True
    base = os.path.basename(words[at].guess or "")
    if base in SHELLS or base.endswith(".sh"):
        around = " ".join(value.guess if value.guess is not None else "?" for value in words[:at])
        inside(shell, lambda: handle(shell, words[at:]), (*wrappers, around), forwarded)
        return True
    record(shell, name, words, wrappers, forwarded)
    return True


def _starts(value: Value) -> bool:
    base = os.path.basename(value.guess or "")
    return bool(PYTHON.match(base)) or base in SHELLS or base.endswith((".sh", ".py")) or base in LAUNCHERS


def _forwarded(words: Sequence[Value]) -> dict[str, Value]:
    """``mpirun -x NAME=VALUE``."""
    found = {}
    for flag, value in itertools.pairwise(words):
        name, equals, rest = (value.guess or "").partition("=")
        if flag.guess == "-x" and equals:
            found[name] = known(rest, value.source) if value.known else Value(value.parts, value.source)
    return found


def _remote(shell: Interpreter, name: str, words: list[Value]) -> bool:
    text = " ".join(value.guess or "?" for value in words)
    if not re.search(r"\.py\b|\.sh\b|torchrun|msrun|python", text):
        return False
    at = next((i for i in range(1, len(words)) if words[i].guess == "--"), None)
    if name == "ray" and at is not None:
        return handle(shell, words[at + 1 :])
    where = shell.run.here()
    shell.run.note(f"{where}: {name} starts something elsewhere that is not followed")
    shell.incomplete.append(f"{name} at {where} starts something that is not followed")
    return True
