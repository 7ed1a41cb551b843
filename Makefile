# Thin over the scan2qa command: every target is one command in the project's own environment.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.ready-dev

# The first of these that runs and is new enough; a version manager's stub may be found and yet not run.
PYTHON ?= $(shell for python in python3.12 python3.11 python3.13 python3.14 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

PROFILE ?= official
WORKERS ?= 3
# A file's tests stay in one process, which makes the file's fixtures once. One process more than two cores: some wait.
SHARED = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
OUT ?= outputs/audit-vsi-$(PROFILE).parquet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build-vsi build-urban build-cityeqa build-ergeo build-embodied stage review diff report gallery schedule audit-vsi coverage-vsi test test-fast browser lint torture mutants bench schemas docs pictures lock clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build-vsi: $(READY) ## everything from raw data to release [ARGS="--option …" for scan2qa build vsi]
	$(BIN)/scan2qa build vsi $(ARGS)

build-urban: $(READY) ## the same for drone flights [ARGS="--root flights=DIR"]
	$(BIN)/scan2qa build urbanvideo $(ARGS)

build-cityeqa: $(READY) ## the same for cities [ARGS="--root city=DIR"]
	$(BIN)/scan2qa build cityeqa $(ARGS)

build-ergeo: $(READY) ## the same for panoramas [ARGS="--root panoramas=DIR"]
	$(BIN)/scan2qa build ergeobench $(ARGS)

build-embodied: $(READY) ## the same for drives, flights and arms [ARGS="--root argoverse2=DIR"]
	$(BIN)/scan2qa build embodied4c $(ARGS)

stage: need-BUILD need-STAGE $(READY) ## rerun one stage: BUILD=vsi STAGE=generate [SCENES="id id …" ARGS="--option …"]
	$(BIN)/scan2qa stage "$(BUILD)" "$(STAGE)" $(if $(SCENES),--scenes "$(SCENES)") $(ARGS)

review: need-BUILD $(READY) ## human review: people answer and judge the questions of a build on a page: BUILD=vsi
	$(BIN)/scan2qa review "$(BUILD)" $(ARGS)

schedule: $(READY) ## scheduled builds, with a running Prefect server [BUILD=vsi CRON="0 3 * * *" ARGS="--root …"]
	$(BIN)/scan2qa schedule "$(or $(BUILD),vsi)" --cron "$(or $(CRON),0 3 * * *)" $(ARGS)

diff: need-BUILD $(READY) ## changes since the previous release, and their causes: BUILD=vsi [SINCE=an older release]
	$(BIN)/scan2qa diff "$(BUILD)" $(if $(SINCE),--since "$(SINCE)")

gallery: need-BUILD $(READY) ## all questions of a build with their pictures, as pages to filter: BUILD=vsi
	$(BIN)/scan2qa gallery "$(BUILD)" $(ARGS)

report: need-BUILD $(READY) ## one page about a release: funnel, figures and questions: BUILD=vsi
	$(BIN)/scan2qa report "$(BUILD)" $(ARGS)

audit-vsi: need-META need-QUESTIONS $(READY) ## audit a published file: answer its questions again: META=… QUESTIONS=… [PROFILE=official OUT=….parquet]
	$(BIN)/scan2qa audit vsi --meta "$(META)" --questions "$(QUESTIONS)" --profile "$(PROFILE)" --out "$(OUT)" $(ARGS)

coverage-vsi: need-META need-QUESTIONS $(READY) ## the share of a published file that the generators reproduce: META=… QUESTIONS=… [PROFILE=official]
	$(BIN)/scan2qa coverage vsi --meta "$(META)" --questions "$(QUESTIONS)" --profile "$(PROFILE)"

# Tests start the command again and again: with its bytecode kept, each start takes a second less.
test test-fast: export PYTHONDONTWRITEBYTECODE =
# Three processes share the cores: threads of BLAS and OpenMP beside them only wait for one another (measured: 64 s instead of 74).
test test-fast: export OMP_NUM_THREADS = 1

test: $(DEV) browser ## run the tests, in WORKERS=3 processes (0: in this one)
	$(BIN)/pytest $(SHARED)

test-fast: $(DEV) ## run only the fast tests (about half a second or less each), in about four minutes on two cores
	$(BIN)/pytest $(SHARED) -m "not slow"

browser: ## install the browser that the tests drive
	@.ci/browser

lint: docs browser ## rules, formatting, types, the direction of imports, and links, navigation and search of the documentation
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docs.search

# Long runs of tests that the suite runs briefly: an hour and a half of two cores, most of it fuzzing (SECONDS for each reader).
SECONDS ?= 600
torture: export SCAN2QA_TORTURE = 1
torture: $(DEV) ## kills, stops, full disks, damage, races, hostile inputs and fuzzing (needs atheris) at length: docs/design/reliability.md [SECONDS=600]
	$(BIN)/pytest -n 1 tests/engine/test_kill.py tests/engine/test_store.py tests/engine/test_damage.py tests/engine/test_lease.py \
		tests/blind/test_filtering.py tests/test_packaging.py
	$(BIN)/pytest $(SHARED) -m long
	$(BIN)/python -m tests.torture
	$(BIN)/python -m tests.bench stops 20
	$(BIN)/python -m tests.fuzz all --seconds $(SECONDS)

mutants: $(DEV) ## change random lines of pipeline/ one by one, and list those that the tests of their package miss [NUMBER=300 SEED=0 ARGS=--fast]
	$(BIN)/python -m tests.mutants $(or $(NUMBER),300) --seed $(or $(SEED),0) $(ARGS)

bench: $(DEV) ## measure speed, in a quarter of an hour: outputs/bench.txt (the model layer apart, twelve minutes: python -m tests.bench models)
	@mkdir -p outputs
	bash -o pipefail -c '$(BIN)/python -m tests.bench | tee outputs/bench.txt'

schemas: $(READY) ## write meta_schemas/*.schema.json from the shared models
	$(BIN)/scan2qa schemas

SITE ?= outputs/docs
docs: $(DEV) ## build the documentation as a site in outputs/docs/VERSION, beside that of other versions [SITE=outputs/docs]
	$(BIN)/python -m tests.reference
	NO_MKDOCS_2_WARNING=1 DOCS_TITLE="$$($(BIN)/scan2qa --version)" $(BIN)/mkdocs build --strict --quiet \
		--site-dir "$(SITE)/$$($(BIN)/scan2qa --version | cut -d ' ' -f 2)"
	@echo "To read and search it: $(BIN)/python -m http.server --directory $(SITE)"

pictures: $(DEV) browser ## make the pictures of docs/pictures again, from sample builds: ten minutes [ARGS="NAME … --work DIR"]
	$(BIN)/python -m tests.pictures $(ARGS)

COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --custom-compile-command "make lock" $(ARGS)
BUILDS := $(addprefix --extra ,scans flights places models review dask s3 setup)
lock: $(READY) ## resolve requirements.lock and requirements-dev.lock again [ARGS=--upgrade]
	$(COMPILE) $(BUILDS) pyproject.toml -o requirements.lock
	$(COMPILE) $(BUILDS) --extra dev --constraint requirements.lock \
		$$(sed -n 's/^\([a-zA-Z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.lock) pyproject.toml -o requirements-dev.lock
	$(COMPILE) --no-deps requirements-harnesses.in -o requirements-harnesses.lock

clean: ## remove what builds wrote to outputs/, and caches
	rm -rf outputs/* dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . \( -path ./$(VENV) -o -path ./.git \) -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean ## clean, and remove .venv
	rm -rf $(VENV)

$(READY): requirements.lock requirements-models.lock pyproject.toml
	@.ci/setup "$(VENV)" "$(PYTHON)"
	@touch $@

$(DEV): $(READY) requirements-dev.lock requirements-harnesses.lock
	@.ci/setup "$(VENV)" "$(PYTHON)" dev
	@touch $@

need-%:
	@test -n "$($*)" || { echo "$* is missing: give it as make TARGET $*=…  (make help shows the targets)" >&2; exit 2; }
