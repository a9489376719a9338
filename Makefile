# Everything runs in .venv, built from the hashed lists in requirements/.

PYTHON ?= python3
UV ?= uv
# Test processes. "logical" counts hardware threads; "auto" would count physical cores only.
WORKERS ?= logical
# Whole files, in their order: what a file prepares for its tests is prepared in one process only.
DEALING := --dist loadfile --no-loadscope-reorder
# Extra arguments, as in: make test PYTEST_ARGS="-k mondrian", make lock LOCK_ARGS=--upgrade
PYTEST_ARGS ?=
LOCK_ARGS ?=
FUZZ_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
CODE := $(wildcard src tests benchmarks experiments fuzzing tools)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	--python-version 3.11 $(LOCK_ARGS) pyproject.toml

# Tests that run on real clusters, of every kind that is installed.
ON_CLUSTERS = $(shell grep -rlE 'real_cluster|spark_cluster' --include='test_*.py' tests)
KILLS := tests/unit/engines/test_kills.py
HAS_JAVA := command -v java >/dev/null || [ -n "$$JAVA_HOME" ]
NO_JAVA := no Java: the tests on Spark are skipped; install a JDK of version 17 or newer

# Tests start hundreds of programs: Python keeps what it compiles, even where the shell says otherwise.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test quick coverage browser lint types format bench fuzz java spark kills image reproduce
.PHONY: lock commands site build clean
.DELETE_ON_ERROR:

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.runtime ## Publish and verify a small table in the terminal
	@$(BIN)/sfumato demo
	@command -v sfumato >/dev/null || \
		echo 'Commands are in $(BIN); to call them by name: export PATH="$(CURDIR)/$(BIN):$$PATH"'

test: lint types browser ## Lint, type check, then run every test
	@echo "pytest"
	@$(BIN)/python -m pytest -q -n $(WORKERS) $(DEALING) $(PYTEST_ARGS)

quick: $(VENV)/.dev ## Run the quick tests: units and printed tables, in about a minute
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow" tests/unit tests/golden $(PYTEST_ARGS)

coverage: $(VENV)/.dev ## Run units, command line and server, and name the lines that no test runs
	@$(BIN)/python -m pytest -q -n $(WORKERS) -p tools.line_coverage tests/unit tests/golden tests/cli \
		tests/server $(PYTEST_ARGS)

browser: ## Install Chromium for the tests of the web page, if it is missing and apt can
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing chromium"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
		else echo "no chromium: the tests of the web page will be skipped"; fi

lint: $(VENV)/.dev ## Check style and formatting with ruff
	@echo "ruff check, ruff format --check"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "not formatted: run 'make format'" >&2; exit 1; }

types: $(VENV)/.dev ## Check types with mypy
	@echo "mypy $(CODE)"
	@$(BIN)/mypy $(CODE)

format: $(VENV)/.dev ## Rewrite the code in the house format
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format .

bench: $(VENV)/.dev ## Measure speed against peers and physical limits
	@$(BIN)/python -m benchmarks

fuzz: $(VENV)/.dev ## Judge random tables, databases, damages and faults: FUZZ_ARGS="releases --count 100000"
	@$(BIN)/python -m fuzzing $(FUZZ_ARGS)

java: ## Install Java for Spark, if it is missing and apt can
	@$(HAS_JAVA) || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing Java"; \
			export DEBIAN_FRONTEND=noninteractive; \
			apt-get update -qq; \
			apt-get install -y -qq openjdk-17-jre-headless >/dev/null 2>&1 || \
				apt-get install -y -qq default-jre-headless >/dev/null || echo "apt cannot" >&2; \
		fi

spark: java ## Run the tests of clusters on Spark, in an environment of its own (half a gigabyte, needs Java)
	@if $(HAS_JAVA); then \
		$(MAKE) --no-print-directory VENV=.venv-spark .venv-spark/.spark && \
		.venv-spark/bin/python -m pytest -q -k spark $(ON_CLUSTERS) $(PYTEST_ARGS); \
	else echo "$(NO_JAVA)"; fi

kills: java $(VENV)/.dev ## Kill workers of clusters in the middle of their work, twenty times on each
	@if $(HAS_JAVA); then \
		$(MAKE) --no-print-directory VENV=.venv-spark .venv-spark/.spark && \
		SFUMATO_KILLS=20 .venv-spark/bin/python -m pytest -q $(KILLS) $(PYTEST_ARGS); \
	else \
		echo "$(NO_JAVA)"; SFUMATO_KILLS=20 $(BIN)/python -m pytest -q $(KILLS) $(PYTEST_ARGS); \
	fi

image: $(VENV)/.dev ## Build and run the container image, from packages only (root, podman, some minutes)
	@SFUMATO_IMAGE=1 $(BIN)/python -m pytest -q tests/containers $(PYTEST_ARGS)

reproduce: $(VENV)/.runtime ## Regenerate the figures of the Mondrian paper
	@$(BIN)/sfumato reproduce mondrian

lock: ## Resolve the dependencies again into requirements/ (needs uv)
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv, or UV=path/to/uv" >&2; exit 1; }
	@echo "locking requirements/dev.txt, requirements/runtime.txt, requirements/spark.txt"
	@$(COMPILE) --extra all --group dev --output-file requirements/dev.txt >/dev/null
	@$(COMPILE) --extra plot --group build --constraint requirements/dev.txt \
		--output-file requirements/runtime.txt >/dev/null
	@$(COMPILE) --extra spark --constraint requirements/dev.txt \
		--output-file requirements/spark.txt >/dev/null

commands: $(VENV)/.dev ## Write the page of every command into docs/commands
	@$(BIN)/python -m tools.write_command_pages

site: $(VENV)/.dev ## Build the site of docs/ into build/site, with search; it opens without a network
	@$(BIN)/python -m tools.site

build: $(VENV)/.runtime ## Build the wheel and the source archive into dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build

clean: ## Remove caches (Numba's too) and build products; keeps .venv
	@echo "removing caches and build products"
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

# The environment. runtime.txt is resolved within dev.txt, so a development environment
# serves every target, and a runtime environment grows into a development one.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "sfumato needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(VENV)/.created
	@echo "installing requirements/runtime.txt"
	@$(PIP) install --require-hashes -r requirements/runtime.txt
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/.created
	@echo "installing requirements/dev.txt"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@ $(VENV)/.runtime

$(VENV)/.spark: requirements/spark.txt $(VENV)/.dev
	@echo "installing requirements/spark.txt"
	@$(PIP) install --require-hashes -r requirements/spark.txt
	@touch $@
