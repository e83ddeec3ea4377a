# Hexcursion: `make run` starts the app on generated data, `make test` runs the tests.
# Both create what they need in .venv first; nothing is installed outside this folder.

PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed.stamp
MAPS := $(VENV)/maps.stamp
# Everyday tests leave out the long studies; with CI=true the same command runs everything.
SELECTION := $(if $(filter true,$(CI)),,-m "not slow")

# Several BLAS threads on a busy machine are many times slower than one: parallel work is done over
# candidates instead, and the number of threads is fixed before numpy is imported.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

define CHECK_PYTHON
command -v $(PYTHON) > /dev/null || { echo "Hexcursion needs Python 3.11 or newer: install \
it, or name it with PYTHON=/path/to/python3." >&2; exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hexcursion needs Python \
3.11 or newer and $(PYTHON) is older: name a newer one with PYTHON=/path/to/python3." >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { echo "Python's venv module is missing: install \
it (on Debian: apt-get install python3-venv) and try again." >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help run test lint lock studies screenshots environment maps

help:  ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

environment: $(MAPS)  ## create .venv with the pinned packages and build the linked maps

maps:  ## build the linked maps again (needs the npm registry)
	@rm -f $(MAPS)
	@$(MAKE) --no-print-directory $(MAPS)

run: $(MAPS)  ## start the app on generated data at http://127.0.0.1:8501 (PORT=8501)
	@$(BIN)/python app.py --server.port $(PORT)

test: $(MAPS)  ## run the everyday tests (CI=true runs the long ones too); ARGS="..." goes to pytest
	@$(BIN)/python -m pytest -n auto --dist loadgroup $(SELECTION) $(ARGS)

lint: $(MAPS)  ## check style, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

lock:  ## pin requirements.in anew into requirements.txt
	@$(CHECK_PYTHON)
	@rm -rf $(VENV)-lock
	@$(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip install --quiet --quiet --disable-pip-version-check -r requirements.in
	@$(VENV)-lock/bin/python -m pip freeze --exclude pip --exclude setuptools > requirements.txt
	@rm -rf $(VENV)-lock

studies: $(MAPS)  ## measure again every number the documents claim (long)
	@$(BIN)/python -m benchmarks

screenshots: $(MAPS)  ## photograph every screen, light and dark, into out/screenshots
	@$(BIN)/python -m tests.browser.screenshots

# Where the maps cannot be built the app falls back to plain ones; with HEXCURSION_REQUIRE_MAPS=1 that is an error.
$(MAPS): $(STAMP) $(wildcard frontend/src/*) frontend/build.mjs frontend/build.py frontend/package-lock.json frontend/pyproject.toml
	@$(BIN)/python frontend/build.py $(if $(HEXCURSION_REQUIRE_MAPS),--required)
	@touch $@

$(STAMP): requirements.txt
	@$(CHECK_PYTHON)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -r requirements.txt
	@touch $@
