"""What the ``throughput`` fixture does with a pipeline: measure it, remember it, advise on it, show it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ascendenv import pipeline
from pytest_ascendenv.enforce import FAILURES, MEASURED, REQUIRED
from pytest_ascendenv.pipeline import history, inprocess
from pytest_ascendenv.report import properties
from pytest_ascendenv.training import observe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ascendenv.pipeline import Throughput
    from pytest_ascendenv.pipeline.floors import Floor


class HardEnd:
    """Ends the process at once where a pipeline hangs in it: the normal end of the interpreter would crash."""

    status = 0

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.status = int(session.exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if inprocess.abandoned:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.status)


class Measuring:
    """Callable with a pipeline; each result also goes to the mark ``min_throughput`` of the test and to the report."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.measured: list[object] = []
        item.stash[MEASURED] = self.measured
        self.failures: list[str] = []
        item.stash[FAILURES] = self.failures
        if not item.config.pluginmanager.hasplugin("ascend-env-end"):
            item.config.pluginmanager.register(HardEnd(), "ascend-env-end")

    def __call__(self, source: object, **options: Any) -> Throughput:
        __tracebackhide__ = True
        observe.note(source)
        progress = Progress(self.item)
        try:
            result = pipeline.measure(source, **self._limits(), **options, watch=progress)
        except (TypeError, ValueError) as mistake:  # in the call: shown at the user's line
            raise type(mistake)(str(mistake)) from None
        except pipeline.NotMeasured as reason:
            self.failures.append(str(reason))
            raise
        finally:
            progress.clear()
        self._remember(result)
        self.measured.append(result)
        self.item.user_properties.extend(properties.of_throughput(result))
        if self.item.config.getoption("ascend_env_advise"):
            self._advise(source, options)
        return result

    def _limits(self) -> dict[str, Any]:
        """What the mark asks for, and what is known of this host; with a floor it ends as soon as that is clear."""
        wanted = self._wanted()
        workers = getattr(self.item.config, "workerinput", {"workercount": 1})["workercount"]
        return {
            "floor": wanted.rate if wanted else None,
            "max_variation": wanted.max_variation if wanted else None,
            "run_variation": history.run_variation(self._records()),
            "others": workers - 1,
        }

    def _wanted(self) -> Floor | None:
        required = self.item.stash.get(REQUIRED, [])
        return next((requirement.wanted for requirement in required if requirement.name == "min_throughput"), None)

    def _advise(self, source: object, options: Mapping[str, Any]) -> None:
        wanted = self._wanted()
        counting = {name: options[name] for name in ("batch_size", "count") if name in options}
        advice = pipeline.advice_on(source, wanted.rate if wanted else None, **counting)
        self.item.user_properties.append((properties.ADVICE, advice))

    @property
    def _key(self) -> str:
        """Where pytest's cache keeps the earlier rates of this measurement of this test on this host."""
        name = f"{self.item.nodeid}[{len(self.measured)}]"
        return f"ascend-env/throughput/{history.host()}/{hashlib.sha256(name.encode()).hexdigest()[:16]}"

    @property
    def _cache(self) -> pytest.Cache | None:
        return getattr(self.item.config, "cache", None)  # absent with -p no:cacheprovider

    def _records(self) -> list[Mapping[str, Any]]:
        cache = self._cache
        found = cache.get(self._key, []) if cache else []
        return found if isinstance(found, list) else []

    def _remember(self, result: Throughput) -> None:
        """Only where the test is enforced: a plain call of the fixture leaves nothing behind."""
        cache = self._cache
        if cache and self._wanted():
            cache.set(self._key, history.remember(self._records(), result))


class Progress:
    """A line on the terminal while a measurement takes long."""

    AFTER = 1.0  # seconds; most measurements are over by then

    def __init__(self, item: pytest.Item) -> None:
        manager = item.config.pluginmanager
        self.reporter: pytest.TerminalReporter | None = manager.getplugin("terminalreporter")
        self.capture = manager.getplugin("capturemanager")
        self.name, self.nodeid = item.name, item.nodeid
        self.start = time.monotonic()
        self.shown = False

    def __call__(self, batches: int, samples: int) -> None:
        seconds = time.monotonic() - self.start
        if self.reporter is not None and self.reporter.isatty and seconds > self.AFTER:
            self._show(self.reporter, f"{self.name}: {samples} samples, {seconds:.0f} s")

    def _show(self, reporter: pytest.TerminalReporter, text: str) -> None:
        writer = reporter._tw
        with self._uncaptured():
            if not self.shown and writer.width_of_current_line:  # that line belongs to the test
                writer.line()
                reporter.currentfspath = None
            reporter.rewrite(text[: max(1, writer.fullwidth - 1)], erase=True)
        self.shown = True

    def clear(self) -> None:
        """Give the line back: pytest writes on as if it had been empty all the time."""
        if not self.shown or self.reporter is None:
            return
        with self._uncaptured():
            self.reporter.rewrite("", erase=True)
            plain = self.reporter.verbosity < 0  # what follows is no line break and where it was, but a dot
            self.reporter.rewrite(_UP if self.reporter.hasmarkup and not plain else "")
            if self.reporter.verbosity == 0 and self.reporter.showfspath:
                self.reporter.write_fspath_result(self.nodeid, "")

    def _uncaptured(self) -> contextlib.AbstractContextManager[None]:
        return self.capture.global_and_fixture_disabled() if self.capture else contextlib.nullcontext()


_UP = "\x1b[A"
