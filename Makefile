# One word each. Every target makes the environment it needs; a second run installs nothing.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-all check format docs benchmark clean

demo: .venv/.run
	@$(BIN)/xsdc demo --out demo --force

test: .venv/.dev
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto -m "not slow"

test-all: .venv/.dev
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto

check: .venv/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: .venv/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: .venv/.dev
	@$(BIN)/python -m xsdc.cli.reference docs/cli.md
	@$(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

benchmark: .venv/.dev
	@$(BIN)/python -m benchmarks.core
	@$(BIN)/python -m benchmarks.networks --json docs/benchmarks-networks.json
	@$(BIN)/python -m benchmarks.training --json docs/benchmarks-training.json

clean:
	rm -rf .venv demo site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# A venv that failed half-way has no pip; it is made anew.
.venv/bin/pip:
	@echo "Making .venv and installing (a few minutes the first time) ..."
	@$(PYTHON) -m venv --clear .venv

# The stamps are newer than what they were made from, so nothing is installed twice.
.venv/.run: pyproject.toml constraints.txt | .venv/bin/pip
	@$(PIP_INSTALL) --editable .
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/pip
	@$(PIP_INSTALL) --editable ".[dev]"
	@touch $@ .venv/.run
