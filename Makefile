# `make` lists what there is to do.
PYTHON ?= .venv/bin/python
unexport PYTHONDONTWRITEBYTECODE  # the tests start hundreds of processes, and each would compile the package anew

.DEFAULT_GOAL := help
.PHONY: accuracy-all bundles release help install app class notebooks check check-all lint types test javascript python lowest fuzz bench students pictures docs published site clean

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

install: .venv/ready  ## a virtual environment with everything the tests need
.venv/ready: EXTRAS = app,dev
.venv/app: EXTRAS = app
.venv/ready .venv/app: pyproject.toml  # who only starts the app needs half of it
	[ -x .venv/bin/python ] || python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --upgrade pip uv
	$(PYTHON) -m uv pip install --quiet --compile-bytecode --python $(PYTHON) -e '.[$(EXTRAS)]' || \
	$(PYTHON) -m pip install --quiet -e '.[$(EXTRAS)]'  # slower, where uv does not know the way to the packages
	$(PYTHON) -m compileall -q collsim  # an editable install leaves it to the first start
	touch .venv/app $@

app: .venv/app   ## start the app, for this computer only
	$(PYTHON) -m collsim app

class: .venv/app  ## start the app for a room: students join with a code
	$(PYTHON) -m collsim app --class

notebooks: .venv/app  ## JupyterLab with the lessons, for this computer only
	$(PYTHON) -m pip install --quiet -e '.[app,notebook]'
	$(PYTHON) -m jupyter lab notebooks $$([ $$(id -u) -ne 0 ] || echo --allow-root)  # root, as in containers

check: install lint  ## what CI runs: format, lint, types, lowest versions and all tests but the slow ones
	$(MAKE) --no-print-directory --output-sync --jobs 2 lowest types javascript  # a core each, the longest first
	$(MAKE) --no-print-directory python

SELECTED ?= not slow
check-all:       ## the same with the slow tests: before a release, and before you say that a change is done
	$(MAKE) --no-print-directory check SELECTED=

lint: install    ## format and lint
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types: install   ## static types
	$(PYTHON) -m mypy

test: javascript python  ## tests: Python, JavaScript, browser, notebooks (all of them with SELECTED=)

javascript: install  ## format, lint, types and tests of the JavaScript
	$(PYTHON) .ci/javascript.py

python: install  ## tests in Python, those in a browser and of notebooks among them
	$(PYTHON) -m pytest -n 3 --dist worksteal -m "$(SELECTED)"  # on two cores: some of them wait for a browser

lowest: install  ## part of the tests with the oldest versions that pyproject.toml allows
	$(PYTHON) .ci/lowest.py -m "$(SELECTED)"

MEASURED ?= ../shared/data/measured
SECONDS ?= 3600
FIRST ?= 1000000
fuzz: install    ## new scenarios, files and addresses for an hour (SECONDS=600, FIRST=seed); what breaks stays in tests/fuzz
	$(PYTHON) tests/fuzz/fuzz_scenarios.py $$(($(SECONDS) / 3)) $(FIRST)
	$(PYTHON) tests/fuzz/fuzz_mutants.py $$(($(SECONDS) / 3)) $(FIRST)
	$(PYTHON) tests/fuzz/fuzz_addresses.py $$(($(SECONDS) / 3)) $(FIRST)

bench: install   ## speed figures (printed, and counts asserted)
	$(PYTHON) -m pytest benchmarks --benchmark-only

students: install  ## thirty students on one server for a quarter of an hour: memory over time
	$(PYTHON) benchmarks/thirty_students.py

pictures: install  ## accept what the app's pages look like now (screenshots in build/screenshots)
	ACCEPT_PICTURES=1 $(PYTHON) -m pytest tests/browser/test_every_page.py

bundles: install ## build what browsers load (collsim/viz/bundles) from the JavaScript modules
	PATH="$(CURDIR)/.venv/bin:$$PATH" npm ci --silent
	PATH="$(CURDIR)/.venv/bin:$$PATH" npm run build

docs: install    ## regenerate all that is generated (the accuracy page where the measurements are)
	$(PYTHON) docs/make_algorithms.py
	$(PYTHON) docs/make_machines.py
	$(PYTHON) docs/make_formats.py
	$(PYTHON) docs/make_hangs.py
	$(PYTHON) docs/make_glossary.py
	$(PYTHON) docs/make_articles.py
	$(PYTHON) docs/make_schema.py
	$(PYTHON) docs/make_output_schemas.py
	$(PYTHON) docs/make_types.py
	$(PYTHON) docs/make_lessons.py
	$(PYTHON) docs/make_notebooks.py
	$(PYTHON) docs/make_outputs.py
	$(PYTHON) docs/make_numbers.py
	$(PYTHON) tests/algorithms/test_diagrams.py
	$(PYTHON) docs/make_studies.py
	$(PYTHON) docs/make_film.py
	$(PYTHON) docs/make_gallery.py
	$(PYTHON) docs/make_screens.py
	$(PYTHON) docs/make_licences.py
	$(PYTHON) docs/make_install.py
	$(PYTHON) docs/make_reference_figures.py
	$(PYTHON) docs/make_reference.py
	[ ! -d $(MEASURED) ] || PYTHONPATH=docs $(PYTHON) -m accuracy.page $(MEASURED) docs/accuracy.md
	PYTHONPATH=docs $(PYTHON) -m accuracy.goals --write

accuracy-all: install  ## the fits behind the accuracy page anew, and GPUs and sources left out, too
	PYTHONPATH=docs $(PYTHON) -m accuracy.spreads $(MEASURED)
	PYTHONPATH=docs $(PYTHON) -m accuracy.page $(MEASURED) docs/accuracy.md --all

PUBLISHED ?= build/notebooks
published: install  ## the notebooks with their outputs, as notebooks and pages, in build/notebooks: for the site and a release
	$(PYTHON) docs/publish_notebooks.py $(PUBLISHED)

site: install    ## the static site: classroom in build/site, documentation in build/site/docs, notebooks in build/site/notebooks
	mkdir -p build
	$(PYTHON) -m collsim site build/site
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --strict
	$(MAKE) published
	mkdir -p build/site/notebooks
	cp -r $(PUBLISHED)/. build/site/notebooks

ADDRESS ?=
release: install ## build a release and try it in clean environments (ADDRESS=https://HOST/OWNER/collsim)
	$(PYTHON) .ci/release.py --repository "$(ADDRESS)"
	$(MAKE) published
	$(PYTHON) -m zipfile -c dist/collsim-notebooks.zip $(PUBLISHED)/en $(PUBLISHED)/zh

clean:           ## remove what was built
	rm -rf .venv node_modules .mypy_cache .pytest_cache .ruff_cache build dist
