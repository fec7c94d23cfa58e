# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The demo needs less than developers do, and starts sooner for it.
DEMO_READY := $(VENV)/.demo-ready

.PHONY: demo test test-all lint fuzz docs bench bench-tables bench-arena clean

demo: $(DEMO_READY)
	$(BIN)/wakesleep train penguins --minutes 0.1 --out runs/demo-table --overwrite
	$(BIN)/wakesleep evaluate runs/demo-table
	$(BIN)/wakesleep report runs/demo-table
	$(BIN)/wakesleep train digits --model "sbn/sbn 10-50-100" --epochs 30 --out runs/demo-digits --overwrite
	$(BIN)/wakesleep evaluate runs/demo-digits --samples 200
	$(BIN)/wakesleep report runs/demo-digits
	@echo
	@echo "Look at runs/demo-table/report.html (a table: 344 penguins) and runs/demo-digits/report.html (images)."
	@echo "Ask the models in a browser: $(BIN)/wakesleep explore runs/demo-table"
	@echo "                             $(BIN)/wakesleep explore runs/demo-digits"

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

# 100,000 mutated inputs to every reader of files and strings, then some led by coverage; finds are
# printed and kept.
fuzz: $(READY)
	$(BIN)/pip install --quiet "atheris>=3.0"
	$(BIN)/python -m tests.fuzz --inputs 100000
	$(BIN)/python -m tests.fuzz.by_coverage --inputs 5000

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
	for module in step kernels likelihood start cost peers; do \
	  test -e benchmarks/$$module.py -o -d benchmarks/$$module || continue; \
	  $(BENCH)/bin/python -m benchmarks.$$module || exit 1; \
	done
	$(BENCH)/bin/python -m benchmarks.page

# People's tables: hours, but it goes on where it was when it is started again.
bench-tables: $(BENCH_READY)
	$(BENCH)/bin/python -m benchmarks.tables

# The DEBD sets beside a tree and a circuit; ours are trained first, where they are not.
bench-arena: $(BENCH_READY)
	$(BENCH)/bin/wakesleep reproduce debd
	$(BENCH)/bin/python -m benchmarks.arena

$(BENCH_READY): pyproject.toml CMakeLists.txt $(wildcard csrc/*) benchmarks/requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	echo '*' > $(BENCH)/.gitignore
	$(BENCH)/bin/python -m pip install --quiet --editable ".[report]" --requirement benchmarks/requirements.txt
	touch $(BENCH_READY)

SOURCES := pyproject.toml CMakeLists.txt $(wildcard csrc/*)

$(READY): $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(DEMO_READY) $(READY)

$(DEMO_READY): $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[report]"
	touch $(DEMO_READY)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wakesleep needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) .venv-bench .venv-docs build dist
