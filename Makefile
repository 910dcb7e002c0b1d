# make run: Table 1 and all demonstrators, headless; prints tables, saves out/report.html with plots and replays.
# make test: everything that is checked.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-slow lint bench clean

run: $(VENV)/run.stamp
	$(BIN)/sharnir report
	@echo
	@echo "Try next:  $(BIN)/sharnir list   |   $(BIN)/sharnir run rods --set n=40 --plot   |   $(BIN)/sharnir doctor"
	@echo "           $(BIN)/python examples/00_hello.py   |   README.md"

test: $(VENV)/test.stamp lint
	$(BIN)/pytest -n 2 --dist loadfile

test-slow: $(VENV)/test.stamp
	$(BIN)/pytest -m slow

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_kernels.py

bench: $(VENV)/test.stamp
	$(BIN)/sharnir bench aba
	$(BIN)/sharnir bench startup

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	@touch $@

$(VENV)/test.stamp: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) out build dist
