# Needs make and a Python of 3.11 or newer with venv and pip; the rest is
# installed into .venv, once. Another Python: make test PYTHON=/path/to/python

PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$each" && break; done)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PACKAGE := $(VENV)/.with-package
DEV := $(VENV)/.with-dev
CHECKED := agentmem_cli tests $(wildcard benchmarks) $(wildcard scripts)
TYPED := agentmem_cli tests $(wildcard benchmarks)

.PHONY: demo test lint types smoke check bench coverage torture docs clean venv

demo: $(PACKAGE)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/demo.sh

test: lint types smoke check

lint: $(DEV)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)

types: $(DEV)
	$(BIN)/mypy $(TYPED)

smoke: $(DEV)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/smoke.sh

# Two processes, for two cores, and since tests that kill at every call copy the whole process.
check: $(DEV)
	@$(BIN)/python -m pytest -q -p no:cacheprovider tests/unit tests/property $(PYTEST_ARGS) > .check.log 2>&1 & unit=$$!; \
	$(BIN)/python -m pytest -q --ignore=tests/unit --ignore=tests/property $(PYTEST_ARGS); status=$$?; \
	wait $$unit || status=1; cat .check.log; rm -f .check.log; exit $$status

bench: $(PACKAGE)
	@$(BIN)/python -m compileall -q agentmem_cli
	$(BIN)/python -m benchmarks.bench $(BENCH_ARGS)

# Every call of every command that changes something, with every fault; make test tries some.
torture: $(DEV)
	AGENTMEM_TORTURE_STEP=1 $(BIN)/python -m pytest -q -p no:cacheprovider tests/e2e/test_torture.py $(PYTEST_ARGS)
	$(BIN)/python -m tests.e2e.crowd 60

coverage: $(DEV)
	$(PIP) install -e '.[coverage]'
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

# completions/ and man/, from the commands themselves
docs: $(PACKAGE)
	$(BIN)/python -m scripts.docs

# A virtual environment holds absolute paths: one that was copied or moved, or
# whose Python is gone, is made anew by taking its marks away.
venv:
	@[ "$$(cat $(VENV)/.place 2>/dev/null)" = "$(CURDIR)" ] && $(BIN)/python -c '' 2>/dev/null \
	|| rm -f $(PACKAGE) $(DEV)

$(PACKAGE): pyproject.toml | venv
	@[ -n "$(PYTHON)" ] || { echo "make: no Python of 3.11 or newer found; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install -e .
	@# PYTHONDONTWRITEBYTECODE, where it is set, would compile everything at each start.
	@$(BIN)/python -m compileall -q agentmem_cli
	@printf '%s' "$(CURDIR)" > $(VENV)/.place
	@touch $@

$(DEV): $(PACKAGE)
	$(PIP) install -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
