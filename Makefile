# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint docs bench bench-tables clean

demo: $(READY)
	$(BIN)/wakesleep train digits --model "sbn/sbn 10-50-100" --epochs 60 --out runs/demo --overwrite
	$(BIN)/wakesleep evaluate runs/demo --samples 1000
	$(BIN)/wakesleep report runs/demo

test: $(READY)
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

# As users run it: XLA optimises fully, where the short suite compiles quickly (tests/conftest.py).
test-all: $(READY)
	XLA_FLAGS= $(BIN)/pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# The site, built strictly into build/site; it needs neither JAX nor a network to be read.
DOCS := .venv-docs
DOCS_READY := $(DOCS)/.ready

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

$(DOCS_READY): docs/requirements.txt
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	echo '*' > $(DOCS)/.gitignore
	$(DOCS)/bin/python -m pip install --quiet --requirement docs/requirements.txt
	touch $(DOCS_READY)

# An environment of its own: the peers are large, and no dependency of the package.
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready

bench: $(BENCH_READY)
	for module in step kernels likelihood peers; do \
	  test -e benchmarks/$$module.py -o -d benchmarks/$$module || continue; \
	  $(BENCH)/bin/python -m benchmarks.$$module || exit 1; \
	done
	$(BENCH)/bin/python -m benchmarks.peers.table

# People's tables: hours, but it goes on where it was when it is started again.
bench-tables: $(BENCH_READY)
	$(BENCH)/bin/python -m benchmarks.tables

$(BENCH_READY): pyproject.toml CMakeLists.txt $(wildcard csrc/*) benchmarks/requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	echo '*' > $(BENCH)/.gitignore
	$(BENCH)/bin/python -m pip install --quiet --editable . --requirement benchmarks/requirements.txt
	touch $(BENCH_READY)

$(READY): pyproject.toml CMakeLists.txt $(wildcard csrc/*)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wakesleep needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) .venv-bench .venv-docs build dist
