# A fresh machine needs Python 3.11+, make, git and a package index. The rest comes with `make setup`.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix build wheel synth diff deploy destroy bench bench-scale bench-peers mutants storm simulate docs transcript pictures lock clean
PY := .venv/bin/python
CDK := $(PY) -m scripts.cdk
ARGS ?=
SEEDS ?= 1000
# Images of containers set it: each of the many processes would compile every module for itself.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: ## Install everything into the checkout, as locked (PYTHON=... names another Python)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh

demo: setup ## Run the whole pipeline on this machine, step by step (STAGE=dev: that stage of cdk.json)
	@$(PY) -m ops demo $(STAGE) $(ARGS)

test: setup ## Run the tests, in CI with branch coverage (ARGS="-k name" for some of them)
	@$(PY) -m scripts.build_zips --platform local > /dev/null
	@OPENBLAS_NUM_THREADS=1 $(PY) -m pytest $(if $(ARGS),$(ARGS),--numprocesses auto $(if $(CI),--cov))

check: setup ## Check format, lint, types, imports, locks and templates; changes nothing
	@$(PY) -m ruff format --check . && $(PY) -m ruff check . && $(PY) -m mypy
	@.venv/bin/lint-imports --no-cache --no-logo && $(PY) -m scripts.lock --check
	@$(PY) -m scripts.scan --all --stages tests/infrastructure/cdk.json

fix: setup ## Format, and correct what ruff can correct
	@$(PY) -m ruff check --fix-only --quiet . ; $(PY) -m ruff format .

build: setup ## Build one zip per function for Lambda arm64 into build/lambda
	@$(PY) -m scripts.build_zips

wheel: build ## Build the wheel: the construct for your CDK app, and the command
	@$(PY) -m scripts.build_wheel

synth: setup ## Synthesize every stage of cdk.json and scan it: no credentials, no network
	@$(CDK) synth --quiet --context placeholder_code=true && $(PY) -m scripts.scan

diff deploy destroy: STAGE ?= dev

diff: build ## Show what a deployment of one stage (STAGE=dev) would change, with your AWS credentials
	@$(CDK) diff --context stage=$(STAGE) $(ARGS)

deploy: build ## Deploy one stage (STAGE=dev) with your AWS credentials
	@$(CDK) deploy --all --context stage=$(STAGE) $(ARGS)

destroy: setup ## Remove one stage (STAGE=dev) with your AWS credentials
	@$(CDK) destroy --all --context stage=$(STAGE) --context placeholder_code=true $(ARGS)

bench: setup ## Answer each question of speed and cost with one row; up to ten minutes
	@OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.bench $(ARGS)

bench-scale: setup ## Grow from 1,000 documents to 100,000 and see what stays flat; a quarter of an hour
	@OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.bench.scale $(ARGS)

bench-peers: setup ## Let other programs do the same work, kill all of them, compare (ARGS="pgai --kills 5")
	@OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.peers $(ARGS)

mutants: setup ## Change the decisions one by one: each change fails a test or is in docs/mutants.toml
	@OPENBLAS_NUM_THREADS=1 $(PY) -m scripts.mutants $(ARGS)

storm: setup ## Let everything fail around the whole stack (ARGS="--operations 10000 --kills 500 --seed 7")
	@OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.storm $(ARGS)

simulate: setup ## Play random histories of the protocol in memory (SEEDS=5000 ARGS="--rules 3")
	@OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.histories --seeds $(SEEDS) $(ARGS)

# Half a minute of synthesis: only after a change of what the page is made from, or of the page.
build/updates.stamp: docs/updates.md $(wildcard infrastructure/*.py infrastructure/*/*.py functions/core/*.py functions/index_setup/*.py scripts/updates*.py scripts/template_difference.py)
	@$(PY) -m scripts.updates_doc && mkdir -p build && touch $@

docs: setup build/updates.stamp ## Write the pages that are made from code
	@$(PY) -m scripts.settings_doc && $(PY) -m scripts.metrics_doc && $(PY) -m ops.commands_doc && $(PY) -m scripts.requirements_doc

transcript: setup ## Run the demo, the first hour and the tutorial, and put what they print into their pages
	@$(PY) -m scripts.transcript

pictures: setup ## Take the pictures of docs/console.md, by the test that clicks through the console
	@mkdir -p docs/pictures && PICTURES=docs/pictures $(PY) -m pytest tests/console/test_browser.py

lock: setup ## Compile the locks from requirements/*.in (ARGS=--upgrade for the newest versions)
	@$(PY) -m scripts.lock $(ARGS)

clean: ## Remove what make built; keeps .venv and node_modules
	@rm -rf build cdk.out mutants .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
