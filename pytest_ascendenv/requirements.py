"""A required precondition and how it is judged; no crash of a check ever looks like a pass."""

from __future__ import annotations

import inspect
import traceback
from dataclasses import dataclass
from typing import Any

from pytest_ascendenv.environment import AscendEnv
from pytest_ascendenv.verdict import Check, Finding, Unknown, Verdict


@dataclass(frozen=True)
class Requirement:
    """One precondition with its arguments read; ``where`` says where it was written, ``written`` how."""

    check: Check
    wanted: Any
    written: str
    where: str

    @property
    def name(self) -> str:
        return self.check.name

    def judge(self, env: AscendEnv, on_launch: bool = False) -> Finding:
        """The finding; a fact that is missing, or a crash inside a probe, is "could not tell" in its own words.

        ``on_launch`` turns the preconditions that can speak of a launch script to the declared one.
        """
        try:
            found = self._judge(env, on_launch)
        except Unknown as reason:
            return self._unknown(env, str(reason))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as crash:  # also SystemExit and what pytest.fail raises
            return self._unknown(env, crash_words(crash))
        if not isinstance(found, Finding):
            return self._unknown(env, f"judge gave {found!r}, and not a Finding")
        return found

    def _judge(self, env: AscendEnv, on_launch: bool) -> object:
        if on_launch:
            from pytest_ascendenv.checks import on_launch as launch

            if self.name in launch.JUDGES:
                return launch.judge(self.name, self.wanted, env)
        return self.check.judge(self.wanted, env)

    def _unknown(self, env: AscendEnv, reason: str) -> Finding:
        return Finding(
            precondition=self.name,
            verdict=Verdict.UNKNOWN,
            expected=self.written,
            found=reason,
            subject=env.subject,
        )


def crash_words(crash: BaseException) -> str:
    """An exception's own words and the line that raised it."""
    where = traceback.extract_tb(crash.__traceback__)[-1:]
    place = f" ({where[0].filename}:{where[0].lineno})" if where else ""
    return f"{type(crash).__name__}: {crash}{place}"


def read_arguments(check: Check, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``check.parse`` of these arguments; raises ValueError whose text speaks of the precondition, not of Python."""
    try:
        inspect.signature(check.parse).bind(*args, **kwargs)
    except TypeError as error:
        raise ValueError(f"{error}; it is written {usage(check)}") from None
    try:
        return check.parse(*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise ValueError(str(error)) from error


def usage(check: Check) -> str:
    """How the precondition is written, from the signature of its ``parse``."""
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(check.parse).parameters.values()]
    inner = ", ".join(str(p) for p in parameters)
    return f"{check.name}({inner})" if inner else check.name
