"""local_storage as the settings file gives it, and the site's own word for a folder."""

from __future__ import annotations

import pytest


@pytest.fixture
def gate(pytester):
    """Run the gate on a settings file whose {here} is the test's own folder."""

    def run(text: str) -> pytest.RunResult:
        pytester.makefile(".toml", **{"ascend-env": text.replace("{here}", str(pytester.path))})
        return pytester.runpytest("--ascend-env", "-v")

    return run


@pytest.mark.parametrize(
    "text",
    [
        'data = ["{here}"]\n[require]\nlocal_storage = true',
        '[require]\nlocal_storage = "{here}"',
        '[require]\nlocal_storage = ["{here}", "{here}/."]',
        '[require]\nlocal_storage = { path = "{here}" }',
    ],
)
def test_each_form_of_naming_the_paths(gate, here, text):
    text = 'treat_as = { "{here}" = "local-ssd" }\n' + text
    result = gate(text)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*counts as local-ssd because the settings say so (treat_as, *"])


def test_the_settings_can_make_a_folder_remote(gate):
    result = gate('treat_as = { "{here}" = "shared" }\n[require]\nlocal_storage = "{here}/sub/../."')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*does not exist*"])
    gate('treat_as = { "{here}" = "shared" }\n[require]\nlocal_storage = "{here}"').assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('treat_as = { "/srv" = "local-sd" }', "*treat_as = *: /srv = 'local-sd': expected one of 'local-ssd', *"),
        ('[require]\nlocal_storage = { write = "fast" }', "*write must be a text such as*, not 'fast'*"),
        ("[require]\nlocal_storage = { wirte = 1 }", "*wirte*"),
        ("[require]\nshared_memory = 8", '*minimum must be a text such as "64 MiB"*'),
        ('[require]\nopen_files = "many"', "*minimum must be a whole number*"),
    ],
)
def test_a_mistake_is_a_usage_error_with_its_place(gate, text, said):
    result = gate(text)
    assert result.ret == 4
    result.stderr.fnmatch_lines([said])


def test_without_a_path_it_could_not_be_told(gate):
    result = gate("[require]\nlocal_storage = true")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no path given: name it, or set data = *"])
