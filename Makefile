# One task runner. Every target does the set-up it needs, so a bare Debian machine starts with any.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.cornerturn

# Debian packages by the command each of them brings; without them a simulator is skipped.
TOOLS := g++ perl ccache iverilog

.DEFAULT_GOAL := help
.PHONY: help setup demo lint test test-full verilog bench synth clean tools

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Install the project into .venv and the simulators' needs from Debian

demo: $(STAMP) ## Transpose a photograph through the RTL; results under build/demo
	$(BIN)/cornerturn demo --photo -o build/demo

lint: $(STAMP) ## Check style, layering and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

test: $(STAMP) ## Run the fast tests: unit, cocotb, system
	@mkdir -p build
	$(BIN)/pytest -n auto --dist worksteal --junitxml=build/test.xml

test-full: $(STAMP) ## Run every test, the slow ones among them
	@mkdir -p build
	$(BIN)/pytest -n auto --dist worksteal --junitxml=build/test-full.xml --run-full

verilog: $(STAMP) ## Write build/cornerturn.v and its .json
	$(BIN)/cornerturn verilog -o build/cornerturn.v

bench: $(STAMP) ## Print the benchmark table
	$(BIN)/cornerturn bench

synth: $(STAMP) ## Print the recorded area and timing; fail past a bound
	$(BIN)/cornerturn synth --results

clean: ## Remove everything that make has made
	rm -rf build $(VENV)

# The stamp makes a second set-up instant; --clear makes a changed pyproject.toml mean what it says.
$(STAMP): pyproject.toml | tools
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "setup: needs Python >= 3.11; name one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "setup: needs the Debian package python3-venv" >&2; exit 1; }
	@echo "setup: installing cornerturn and its pinned dependencies into $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

tools:
	@missing=; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "setup: installing the Debian packages$$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -qq --no-install-recommends $$missing >/dev/null \
	    || echo "setup: could not install$$missing; tests that need them are skipped" >&2; \
	else \
	  echo "setup: no root to install$$missing; tests that need them are skipped" >&2; \
	fi
