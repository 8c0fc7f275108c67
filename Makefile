# `make gate` and `make test` are all a fresh machine needs: Python 3.10-3.12 with venv, git and make.

PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null && echo $$p && break; \
	done)
VENV ?= .venv
BIN := $(VENV)/bin
# Byte code is kept beside the environment, also where the machine asks Python not to write any.
RUN := env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(abspath $(VENV))/pycache

.PHONY: gate test lint suite clean

gate: $(VENV)/gate.ready  ## The main job: the gate on examples/quickstart, with real MindSpore on the CPU.
	cd examples/quickstart && $(RUN) $(abspath $(BIN))/python -m pytest --ascend-env

test: lint suite  ## ruff, mypy, the test suite.

lint: $(VENV)/test.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(RUN) $(BIN)/mypy

suite: $(VENV)/test.ready
	$(RUN) $(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.10, 3.11 or 3.12 with venv was found; name one: make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/gate.ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[mindspore]"
	touch $@

$(VENV)/test.ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[mindspore,test,lint]"
	touch $@ $(VENV)/gate.ready

clean:
	rm -rf $(VENV) .venv-*
