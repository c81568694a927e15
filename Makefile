# Everything a newcomer needs: `make demo` and `make test`. Both set up what is missing first.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
READY := .venv/.ready
# Two test processes for each core, as they wait for browsers, servers and deadlines; at most eight,
# as each may hold a browser. The tests of a file stay together, because they share browsers, servers
# and clusters; files are begun in the order of tests/conftest.py.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PYTEST_ARGS ?= -n $$(( $(CORES) * 2 )) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Where Python is told to keep no compiled modules, every process that tests start compiles all it
# imports again, which takes longer than most tests.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-slow test-all check format setup lock bench docs dist screenshots clean

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## score built-in methods on bundled pages, print a table, write report.html
	@$(BIN)/uiproof demo

test: $(READY) ## run all tests but the slow ones (PYTEST_ARGS="-n 0 tests/test_cli.py" for some)
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-slow: $(READY) ## run the slow families: clusters, faults, hostile pages, the studio in a browser
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m slow

test-all: $(READY) ## all tests, and the originals from PyPI run side by side with us
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m ""

check: $(READY) ## formatting, lint, types and the direction of imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo

format: $(READY) ## format the code and mend what lint can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

setup: $(READY) ## uv, the Python environment, a browser, fonts, the frozen web
	@echo "Ready. Try: make demo"

$(READY): requirements.lock pyproject.toml scripts/setup.sh src/uiproof/web/lock.json
	@scripts/setup.sh all
	@touch $@

lock: ## pin the newest allowed versions of all dependencies in requirements.lock
	@scripts/setup.sh lock

bench: $(READY) ## speed, as ratios measured in one run
	@$(BIN)/python bench/design2code.py
	@$(BIN)/python bench/models.py
	@$(BIN)/python bench/grounding.py
	@$(BIN)/python bench/report.py
	@$(BIN)/python bench/overhead.py
	@$(BIN)/python bench/executors.py
	@$(BIN)/python bench/serve.py --requests 200
	@$(BIN)/python bench/scale.py

docs: $(READY) ## the documentation site, in site/; broken links are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site
	@echo "Open site/index.html"

dist: $(READY) ## wheel and sdist in dist/, installed into an empty environment and tried
	@scripts/dist.sh

screenshots: $(READY) ## pictures of the reports and the studio for the documentation
	@$(BIN)/python scripts/screenshots.py

clean: ## remove the environment, caches and what the demo made
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis dist report*.html diff.html runs/demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
