# Hexcursion: `make run` starts the app, `make test` runs the tests.
# Both create what they need in .venv first; nothing is installed outside this folder. Running the app takes
# requirements.txt, everything else requirements-test.txt as well; every file is checked against its hash.

PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed.stamp
OWN := $(VENV)/own.stamp
TOOLS := $(VENV)/tools.stamp
INSTALL = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes -r
# Each step of a first start says what it does and about how long that takes, then how long it took.
BEGIN = begun=$$(date +%s); echo
END = echo "  done in $$(( $$(date +%s) - begun )) s"
# Everyday tests leave out the long studies; with CI=true the same command runs everything.
SELECTION := $(if $(filter true,$(CI)),,-m "not slow")
# COVERAGE=true says which lines the tests run; it takes time, so it is asked for by `make coverage` alone.
COVERED := $(if $(filter true,$(COVERAGE)),--cov --cov-report=term:skip-covered)

# Several BLAS threads on a busy machine are many times slower than one: parallel work is done over
# candidates instead, and the number of threads is fixed before numpy is imported.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# Compiled code is kept whatever the shell says: every worker and every server of a test would compile all of it
# again, and the asserts of 300 test files are rewritten in a quarter of a minute.
unexport PYTHONDONTWRITEBYTECODE

define CHECK_PYTHON
command -v $(PYTHON) > /dev/null || { echo "Hexcursion needs Python 3.11 or newer: install \
it, or name it with PYTHON=/path/to/python3." >&2; exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hexcursion needs Python \
3.11 or newer and $(PYTHON) is older: name a newer one with PYTHON=/path/to/python3." >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { echo "Python's venv module is missing: install \
it (on Debian: apt-get install python3-venv) and try again." >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help run test coverage lint docs report wheel lock studies mutations screenshots environment maps

help:  ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

environment: $(TOOLS)  ## create .venv with the pinned packages

maps: $(TOOLS)  ## build the linked maps again after a change to frontend/ (needs the npm registry)
	@$(BIN)/python frontend/build.py

run: $(OWN)  ## start the app at http://127.0.0.1:8501 (PORT=8501)
	@echo "Starting the app: a few seconds. Ctrl-C stops it."
	@$(BIN)/python app.py --server.port $(PORT)

test: $(TOOLS)  ## run the everyday tests (CI=true runs the long ones too); ARGS="..." goes to pytest
	@$(BIN)/python -m pytest -n auto $(SELECTION) $(COVERED) $(ARGS)

coverage:  ## run the everyday tests and say which lines they leave out
	@$(MAKE) --no-print-directory test COVERAGE=true

lint: $(TOOLS)  ## check style, formatting, types and imports
	@status=0; for check in "ruff check ." "ruff format --check ." "mypy" "lint-imports --no-logo --no-cache .importlinter $(wildcard plugins/*/.importlinter)"; do \
	  echo "-- $$check"; $(BIN)/$$check || status=1; done; exit $$status

docs: $(TOOLS)  ## build the documentation into out/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

report: $(TOOLS)  ## build the report for reviewers into out/report/report.pdf
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --upgrade --target out/typst \
	  -r docs/report/requirements.txt
	@PYTHONPATH=out/typst $(BIN)/python -m studies.report

wheel: $(TOOLS)  ## build the installable packages into out/wheel, the linked maps among them
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --wheel-dir out/wheel . ./dpgp_core $(dir $(PLUGINS))

# One resolution for every platform and Python that pyproject.toml allows, with the hash of each file and no address.
LOCK := $(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
  --no-annotate --no-emit-index-url --no-strip-extras $(ARGS)

lock:  ## pin requirements*.in into requirements*.txt, with hashes (ARGS=--upgrade takes newer versions)
	@$(CHECK_PYTHON)
	@rm -rf $(VENV)-lock
	@$(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip install --quiet --quiet --disable-pip-version-check "uv>=0.13"
	@$(LOCK) requirements.in --output-file requirements.txt
	@$(LOCK) requirements-test.in --output-file requirements-test.txt
	@rm -rf $(VENV)-lock

studies: $(TOOLS)  ## measure again every number the documents claim (long)
	@$(BIN)/python -m studies --all

mutations: $(TOOLS)  ## break a room in small ways and list what its tests miss (ROOM= TESTS= NUMBER=30 SEED=1)
	@.ci/mutations $(ROOM) $(TESTS) $(NUMBER) $(SEED)

screenshots: $(TOOLS)  ## photograph every screen, light and dark, into out/screenshots
	@$(BIN)/python -m tests.browser.screenshots

$(STAMP): requirements.txt
	@$(CHECK_PYTHON)
	@$(BEGIN) "Making the environment $(VENV), once: a few seconds."; $(PYTHON) -m venv $(VENV) && $(END)
	@$(BEGIN) "Installing the packages into it: one to three minutes."; $(INSTALL) requirements.txt && $(END)
	@touch $@

# The checkout, its core, its linked maps and its plugins in editable form: their commands, screens and the like are found by entry points.
PLUGINS := $(wildcard plugins/*/pyproject.toml)
$(OWN): $(STAMP) pyproject.toml hatch_build.py hexcursion/version.py dpgp_core/pyproject.toml frontend/pyproject.toml $(PLUGINS)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-index --no-deps \
	  --no-build-isolation --editable . --editable ./dpgp_core --editable ./frontend $(patsubst %/pyproject.toml,--editable %,$(PLUGINS))
	@touch $@

$(TOOLS): $(OWN) requirements-test.txt
	@$(BEGIN) "Installing what tests and documentation need, once: one to three minutes."; \
	  $(INSTALL) requirements-test.txt && $(END)
	@touch $@
