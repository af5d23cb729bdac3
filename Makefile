# Two commands on a fresh machine: `make run` discovers a better heuristic, `make test` checks everything.
# Each target sets up .venv by itself when it is missing or out of date.

PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
NOTEBOOKS ?= force# off: leave out the notebooks of the site
EXTRAS ?= test# what make test installs; test,neural,driving tests all there is
TORCH ?=# a build of PyTorch other than the default, such as torch==2.13.0
RUN_OPTIONS ?=# further options of make run, such as '--evaluations 30'
SEED ?=# of make mutants; new each day where none is given
MUTANTS ?=--seconds 240 --least 0.5# what make mutants does, such as 'oragent/report --count 20'
PROBLEMS ?=# of make results, such as 'mkp_aco tsp_gls'; all where none is given
RESULTS ?=# options of make results, such as '--modes=val --noise=0.002' for another processor
SMOKE ?=# Pythons on which make dist tries wheel and sdist, each with the packages that it asks for itself
# A path in place of a finder of imports, which costs each of the thousand processes of the tests 20 ms.
EDITABLE := --config-settings editable_mode=compat --editable
comma := ,
TEST := .venv/.$(subst $(comma),-,$(EXTRAS))

.PHONY: run test test-slow mutants lint format bench results dist docs clean

run: $(CORE)
	$(BIN)/oragent run tsp_aco --config configs/quick.yaml $(RUN_OPTIONS)

test: $(TEST)
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(TEST)
	$(BIN)/python -m pytest -m slow

# Small faults that tests should notice (nine of ten), in packages drawn at random. It fails where fewer than half are
# noticed, beyond what chance explains: the upper end of the 95 % interval of the drawn faults lies below that share.
mutants: $(TEST)
	$(BIN)/python -m tests.tools.mutants $(MUTANTS) $(addprefix --seed ,$(SEED))

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(TEST)
	for script in tests/benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

# Scores every shipped program again, on val, test and its fresh set, and fails where a figure differs from its evidence.
results: $(TEST)
	$(BIN)/python docs/tools/check_evidence.py $(PROBLEMS) $(RESULTS)

# Builds sdist and, out of that, wheel, and tries them: on the Pythons of SMOKE with what an index gives, or else on this one
# with the packages of .venv.
dist: $(CORE)
	rm -rf build dist
	$(BIN)/pip install --quiet --disable-pip-version-check build 'setuptools>=77'
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --wheel --outdir build/benchmarks benchmarks
	$(BIN)/python -m tests.wheel.try_dist $(addprefix --python ,$(SMOKE))

# The site, in docs/_build/html. Notebooks run (those of PyTorch and SUMO where these are installed); NOTEBOOKS=off leaves
# that out.
docs: $(CORE)
	$(BIN)/pip install --quiet --disable-pip-version-check $(EDITABLE) '.[docs]' --editable ./benchmarks
	NOTEBOOKS=$(NOTEBOOKS) $(BIN)/python -m sphinx -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/tools/check_site.py docs/_build/html

clean:
	rm -rf .venv build docs/_build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "oragent needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

$(CORE): .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check $(EDITABLE) .
	touch $@

$(TEST): $(CORE)
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH) $(EDITABLE) '.[$(EXTRAS)]' --editable ./benchmarks
	touch $@
