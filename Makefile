# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint bench clean

demo: $(READY)
	$(BIN)/wakesleep train digits --model "sbn/sbn 10-50-100" --epochs 60 --out runs/demo --overwrite
	$(BIN)/wakesleep evaluate runs/demo --samples 1000
	$(BIN)/wakesleep report runs/demo

test: $(READY)
	$(BIN)/pytest -n auto -m "not slow"

test-all: $(READY)
	$(BIN)/pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.step

$(READY): pyproject.toml CMakeLists.txt $(wildcard csrc/*)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wakesleep needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist
