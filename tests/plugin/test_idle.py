"""With no option and no marker the plugin changes nothing and loads nothing heavy."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

HEAVY = {"mindspore", "numpy", "psutil", "torch", "yaml", "tree_sitter", "msgspec", "multiprocessing"}


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest; had = set(sys.modules); import pytest_ascendenv.plugin; print(*(set(sys.modules) - had))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & {name.partition(".")[0] for name in out}
    assert not [name for name in out if name.startswith("pytest_ascendenv.checks.")]


def test_idle_run_loads_nothing_heavy_and_registers_no_hooks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys
        def test_a(pytestconfig):
            assert not {HEAVY - {"multiprocessing"}!r} & set(sys.modules)
            names = [name for name, _ in pytestconfig.pluginmanager.list_name_plugin()]
            assert not [name for name in names if name.startswith("ascend-env")]
        """
    )
    result = pytester.runpytest_subprocess(
        "-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:metadata", "-p", "no:html"
    )
    result.assert_outcomes(passed=1)


def test_idle_output_is_the_same_as_without_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): pass\ndef test_b(): assert 0")
    with_it = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v")
    without = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "-p", "no:ascendenv")

    def body(result: pytest.RunResult) -> list[str]:
        lines = [line for line in result.outlines if not line.startswith(("plugins:", "metadata:"))]
        return [re.sub(r" in [\d.]+s =+$", "", line) for line in lines]

    assert body(with_it) == body(without)
    assert with_it.ret == without.ret == 1


def test_plugin_can_be_switched_off(project: pytest.Pytester) -> None:
    project.makepyfile("import pytest\n@pytest.mark.broken\ndef test_a(): pass")
    result = project.runpytest_subprocess("-p", "no:ascendenv", "-W", "ignore::pytest.PytestUnknownMarkWarning")
    result.assert_outcomes(passed=1)


def test_strict_markers_and_warnings_as_errors(project: pytest.Pytester) -> None:
    project.makepyfile("import pytest\n@pytest.mark.fine\n@pytest.mark.amp_level(None)\ndef test_a(): pass")
    result = project.run(sys.executable, "-W", "error", "-m", "pytest", "--strict-markers", "--strict-config")
    result.assert_outcomes(skipped=1)
    result = project.run(
        sys.executable, "-W", "error", "-m", "pytest", "--strict-markers", "--ascend-env-require", "fine"
    )
    result.assert_outcomes(passed=2)


def test_nothing_below_the_line_imports_pytest() -> None:
    code = (
        "import sys, pkgutil, importlib, pytest_ascendenv as p\n"
        "upper = {'plugin', 'hookspec', 'session', 'items', 'enforce', 'fixtures', 'measuring', 'markers', 'options',\n"
        "         'report'}\n"
        "lower = [m.name for m in pkgutil.walk_packages(p.__path__, 'pytest_ascendenv.')\n"
        "         if m.name.split('.')[1] not in upper and not m.name.endswith('.child')]\n"
        "for name in lower: importlib.import_module(name)\n"
        "assert 'pytest' not in sys.modules, sys.modules['pytest']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
