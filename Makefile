# Everything sets itself up: a virtual environment in .venv with the locked versions.
VENV := .venv
PYTHON ?= $(or $(shell command -v python3.11),$(shell command -v python3.12),python3)
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# What Python compiles is kept: tests start the command many times.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run fast test slow lint page clean

# Tests say themselves when they take long (the markers in pyproject.toml).
PYTEST := $(BIN)/pytest -n 2 --dist worksteal $(PYTEST_OPTIONS)

run: $(READY)
	$(BIN)/schedsearch run examples/matmul.py --budget 60

fast: $(READY)
	$(PYTEST) -m "not normal and not slow"

test: lint
	$(PYTEST) -m "not slow"

slow: $(READY)
	$(PYTEST) -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The page of `ui` and `report`, from its sources; the result is committed: only this needs npm.
page:
	cd page && npm ci && npm run build

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 12); sys.exit(0 if ok else "schedsearch needs Python 3.11 or 3.12, this is %d.%d; set PYTHON=/path/to/python3.11" % sys.version_info[:2])'
	@$(PYTHON) -c 'import ensurepip' || { echo "Python has no ensurepip; on Debian: apt install python3.11-venv"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
