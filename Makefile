# Everything CI does is here; `make run` and `make test` need Python 3.11 and make, nothing else.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
# One thread per BLAS call: the tests run in two processes on two cores.
# SCIPY_ARRAY_API lets scikit-learn run its array API check. Compiled files are kept, whatever the shell says: the tests
# start many processes.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE=

.PHONY: run test test-everywhere mutants fuzz vulnerabilities lint types layers unit bench bench-scale bench-dask leaderboard docs coverage dist paper audit walk clean

# First the steps of a practitioner on readable texts, then a comparison of methods
run: $(VENV)/.run
	$(BIN)/ldlearn demo --folder results/demo
	$(BIN)/ldlearn run quick -o results/quick --jobs 2
	$(BIN)/ldlearn report results/quick

# Tests wait for other processes now and then; types and layers are checked meanwhile.
test: lint
	$(MAKE) -j3 layers types unit

# The numerical tests as other processors would run them, all tests on other interpreters and the oldest versions declared
test-everywhere: $(VENV)/bin/python
	$(BIN)/python tools/test_everywhere.py

# Does a test notice when the mathematics is wrong in one place? A sample of the places, half an hour at most.
# `make mutants SEED=2` draws another one; `python tools/mutants.py --only core/simplex.py` tries all of a file.
SEED ?= 1
mutants: $(VENV)/.dev
	$(BIN)/python tools/mutants.py --only core solvers metrics --sample 60 --seed $(SEED) --minutes 30 --jobs 2

# Known vulnerabilities of the versions in constraints.txt; needs a network and pipx
vulnerabilities:
	pipx run pip-audit==2.9.0 --disable-pip --no-deps --requirement constraints.txt

# All crafted and inflated model files and 4,000 random mutants of sound ones; `make test` loads a sample.
# The number is the seed of the mutants: `make fuzz LDLEARN_FUZZ=7`.
LDLEARN_FUZZ ?= 1
fuzz: $(VENV)/.dev
	LDLEARN_FUZZ=$(LDLEARN_FUZZ) $(TEST_ENV) $(BIN)/pytest tests/tables/test_crafted_models.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/repo-review --show err .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

unit: $(VENV)/.dev
	$(TEST_ENV) $(BIN)/pytest -n 2 --dist worksteal

coverage: $(VENV)/.dev
	$(TEST_ENV) $(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term --cov-report=xml

# Wheel and source archive in dist/, checked, installed in a fresh environment and tried there
dist: $(VENV)/.dist
	$(BIN)/python tools/check_dist.py

# The table of scale: minutes, two idle cores, 8 GB
bench-scale: $(VENV)/.dev
	$(BIN)/python benchmarks/scale.py

# On a Dask cluster of this machine: the cost model, then 4 GB on two workers of 2 GB (needs 10 GB of disk, and time)
bench-dask: $(VENV)/.dev
	$(BIN)/python benchmarks/on_dask.py model
	$(BIN)/python benchmarks/on_dask.py fit 10000000 --workers 2 --memory 2GB

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/dldl_speed.py
	$(BIN)/python benchmarks/paper_grid.py
	$(BIN)/python benchmarks/datasets_memory.py
	$(BIN)/python benchmarks/table_path.py

# The documentation site, without a network: docs/_build/html/index.html
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# Cells of the leaderboard that have no record yet, then its pages in benchmarks/leaderboard
leaderboard: $(VENV)/.run
	$(BIN)/python -m benchmarks.leaderboard

# The DLDL paper: its experiment on the data sets that are available (hours), then the page with print beside ours
paper: $(VENV)/.run
	$(BIN)/ldlearn run paper -o research/paper/run --jobs 2
	$(BIN)/python -m research.paper.write_page

# The numbers that the DLDL paper prints, checked against each other and against baselines
audit: $(VENV)/.run
	$(BIN)/python -m research.paper

# README and tutorial followed word by word in a fresh environment
walk: $(VENV)/.dev
	LDLEARN_WALK=fresh $(BIN)/pytest tests/test_newcomer_walk.py

$(VENV)/bin/python:
	$(PYTHON) -m venv --without-pip $(VENV)

# Compiling on all cores at once and without what is hardly ever imported is faster than leaving it to the installer, or
# to the first processes that import it. Templates among the files do not compile, which does not matter.
RARE := tests?|mypyc?|pip|setuptools|pkg_resources|distutils|statsmodels|patsy|formulaic|onnx|onnxruntime|lexers
RARE := $(RARE)|fontTools|google|hypothesis|signal|async_api
define install
	$(BIN)/python tools/install.py $(1)
	$(BIN)/python -m compileall -qq -j 0 -x '/($(RARE))/' $(VENV)/lib src || true
endef

$(VENV)/.run: $(VENV)/bin/python pyproject.toml
	$(call install,all)
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(call install,dev)
	touch $@ $(VENV)/.run

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(call install,docs)
	touch $@

$(VENV)/.dist: $(VENV)/bin/python pyproject.toml
	$(call install,dist)
	touch $@

clean:
	rm -rf $(VENV) .everywhere build dist results docs/_build docs/api docs/auto_examples docs/_pictures .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
