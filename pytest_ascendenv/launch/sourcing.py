"""Other scripts: ``source x``, ``bash x``, ``bash -c text``; read where they are named, under a size limit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ascendenv.launch import text as texts
from pytest_ascendenv.launch.flow import Flow
from pytest_ascendenv.launch.state import Status, positional
from pytest_ascendenv.launch.values import Value, known
from pytest_ascendenv.verdict import Unknown

if TYPE_CHECKING:
    from pytest_ascendenv.launch.interpreter import Interpreter

MOST = 64  # files one reading opens
VENDOR = re.compile(r"set_?env\w*\.(sh|bash)|bashrc|(^|/)activate|conda|bash_profile|/etc/profile")
"""The toolkit's and the shell's own files: missing here is no error, and what they set is known by name."""
VENDOR_NAMES = re.compile(
    r"(ASCEND_(?!RT_VISIBLE|LAUNCH|GLOBAL|SLOG|WORK)\w*|ATB_\w+|TOOLCHAIN_HOME|\w*LD_LIBRARY_PATH|PATH|PYTHONPATH|MANPATH"
    r"|CONDA\w*|PS1|LD_PRELOAD|CMAKE_PREFIX_PATH|HCCL_HOME|NNAL\w*|ASDOPS\w*|LCCL\w*)",
)


def vendor_variable(name: str) -> bool:
    return VENDOR_NAMES.fullmatch(name) is not None


def source(shell: Interpreter, words: list[Value]) -> Flow:
    """``source file args``: its variables stay."""
    if not words:
        return Flow.GO
    shell.state.status = Status.RAN
    loaded = load(shell, words[0])
    if isinstance(loaded, str):
        return _missing(shell, words[0], loaded)
    state, args, hole = shell.state, shell.state.args, shell.state.args_hole
    if len(words) > 1:
        state.args, state.args_hole = positional(words[1:])
    before, shell.run.invoked = shell.run.invoked, words[0]
    shell.returns.append([])
    try:
        flow = _enter(shell, loaded)
        shell.rejoin(shell.returns[-1], flow is Flow.GO or flow is Flow.RETURN)
    finally:
        shell.returns.pop()
        shell.run.invoked = before
    if len(words) > 1:
        shell.state.args, shell.state.args_hole = args, hole
    return Flow.EXIT if flow is Flow.EXIT else Flow.GO


def _enter(shell: Interpreter, loaded: texts.Source) -> Flow:
    shell.scripts = (*shell.scripts, loaded.name)
    try:
        return shell.text(texts.mend(loaded.text)[0], loaded.name)
    finally:
        shell.scripts = shell.scripts[:-1]


def _missing(shell: Interpreter, word: Value, reason: str) -> Flow:
    name = word.guess or reason
    where = f"{name} (sourced at {shell.run.here()})"
    if VENDOR.search(name):
        shell.state.doubt(where, vendor_variable, total=False)
        shell.run.note(f"{shell.run.here()}: {name} is not read here; it sets the toolkit's paths")
    else:
        shell.state.doubt(where)
        shell.run.note(f"{shell.run.here()}: {reason}; what it sets is unknown")
    return Flow.GO


def script(shell: Interpreter, word: Value, args: list[Value]) -> Flow:
    """``bash file args``: a child that gets the exported variables; only its launches come back."""
    loaded = load(shell, word)
    if isinstance(loaded, str):
        shell.run.note(f"{shell.run.here()}: {loaded}; launches in it are not seen")
        shell.incomplete.append(f"{word.guess or 'a script'} run at {shell.run.here()} could not be read")
        return Flow.GO
    return child(shell, lambda: _enter(shell, loaded), word, args)


def child(shell: Interpreter, action: object, zero: Value, args: list[Value]) -> Flow:
    def inside() -> Flow:
        state = shell.state
        state.variables = {name: var for name, var in state.variables.items() if var.exported or var.unset}
        state.functions, state.zero = {}, zero
        state.args, state.args_hole = positional(args)
        state.errexit = state.nounset = state.allexport = state.pipefail = False
        before, shell.run.invoked = shell.run.invoked, zero
        locals_, shell.locals = shell.locals, []
        try:
            return action()  # type: ignore[operator, no-any-return]
        finally:
            shell.run.invoked = before
            shell.locals = locals_

    return shell.subshell(inside)


def text(shell: Interpreter, code: Value, args: list[Value]) -> Flow:
    """``bash -c code name args``."""
    content = code.guess
    if content is None:
        shell.run.note(f"{shell.run.here()}: bash -c with a text that is not known ({code.reason})")
        shell.incomplete.append(f"the text of bash -c at {shell.run.here()} is not known")
        return Flow.GO
    zero = args[0] if args else known("bash")
    run = lambda: shell.text(content, shell.run.name, shell.run.line, fixed=True)  # noqa: E731
    return child(shell, run, zero, args[1:])


def load(shell: Interpreter, word: Value) -> texts.Source | str:
    """The named file, or the reason why it is not read."""
    name = word.text
    if name is None:
        return f"which file is read is not known ({word.reason})"
    base = shell.state.cwd.text
    if base is None and not name.startswith("/"):
        return f"{name}: the working directory is not known ({shell.state.cwd.reason})"
    path = Path(os.path.join(base or "/", name))
    if VENDOR.search(name) and not path.exists():
        return f"{name} is missing"
    shown = display(path, shell.base)
    if shown in shell.scripts and shell.scripts.count(shown) > 3:
        return f"{name} includes itself"
    if shown not in shell.run.files:
        if len(shell.run.files) >= MOST:
            return f"more than {MOST} files"
        try:
            shell.run.files[shown] = texts.read(path, shown)
        except Unknown as error:
            return str(error)
        shell.run.notes.extend(shell.run.files[shown].notes)
        shell.run.mended += [shell.run.files[shown].mended] if shell.run.files[shown].mended else []
    return shell.run.files[shown]


def display(path: Path, base: str) -> str:
    """The path relative to the working directory of the reading, where it lies below it."""
    normal = os.path.normpath(path)
    inside = os.path.relpath(normal, base)
    return normal if inside.startswith("..") else inside
