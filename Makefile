# Every target works from a fresh clone: it makes its own environment (.venv), says what it does, and says what is
# missing. Nothing is installed outside this folder but, where root allows it, the system packages that tests need, and
# the control plane's programs (and Node, for a machine without it) in the user's cache.

.DEFAULT_GOAL := help
.PHONY: help run stop demo test coverage verify flaky check bench eval composer-model chaos soak web web-dev web-packages rest-types screenshots crds cluster lock
.PHONY: settings audit image image-lock clean environment binaries s3-server small-model verifiers redis-server chromium
.PHONY: chromium-shell chart chart-files chart-tools image-engine

PYTHON ?=
export PYTHON
export PYTHONUNBUFFERED := 1
# Bytecode is kept (__pycache__, which git ignores): without it each of the hundreds of processes of a test run compiles
# all that it imports.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
LOCK_FILES := requirements.lock hack/installer/requirements.lock hack/audit/requirements.lock hack/image/requirements.lock hack/image/cjk-requirements.lock hack/image/build-requirements.lock \
  hack/smallmodel/requirements.lock hack/controlplane/go-toolchain.txt hack/node-toolchain.txt
NPM_LOCK_FILES := api/web/package-lock.json tests/signatures/node/package-lock.json \
  examples/receivers/express/package-lock.json tests/dashboard_auth/provider/package-lock.json
# A lock file names packages and hashes. An address in it would bind everybody to one registry.
step = @printf '\n== %s\n' '$(1)'
comma := ,
# Processes take whole files, the longest first (tests/conftest.py). With ARGS only some run, in one process: that
# starts sooner.
IN_PROCESSES := -n auto --no-loadscope-reorder
# Covered lines and branches of each package, in percent, that `make test` as a whole must reach.
COVERAGE_FLOORS := crds:96.5 api:95 operator:93 cli:87

help: ## Show this list
	@echo 'usage: make TARGET'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'settings: CHECKLISTS_PORT, CHECKLISTS_RETRY_GAPS, CHECKLISTS_RATE_LIMIT, KUBECONFIG; more in docs/settings.md'

run: $(if $(KUBECONFIG),,binaries) environment web ## Serve: control plane, API and operator (DETACH=1: return when ready; KUBECONFIG=...: use that cluster)
	@$(BIN)/python -m checklist_dev.local.service run $(if $(filter-out 0 no false,$(DETACH)),--detach,--end-with-parent)

stop: environment ## End what `make run` started
	@$(BIN)/python -m checklist_dev.local.service stop

demo: binaries environment chromium web ## Run the main job on real checklists, with a transcript of what was checked
	@CHECKLISTS_FULL_BROWSER=1 $(BIN)/python -m checklist_dev.demo $(ARGS)

test: binaries environment redis-server chromium-shell s3-server verifiers web ## Run the tests that guard behaviour (ARGS="tests/unit -k word" for some)
	@$(if $(ARGS),:,$(BIN)/python -m checklist_dev.web test)
	@$(BIN)/python -m pytest $(or $(ARGS),$(IN_PROCESSES) -m "not verify" --cov --cov-report= tests)
	@$(if $(ARGS),:,$(MAKE) --no-print-directory coverage)

coverage: ## Say what the last `make test` covered, and hold the floors
	@for each in $(COVERAGE_FLOORS); do \
	  printf '%-9s %s %% of lines and branches (floor: %s %%)\n' "$${each%:*}" \
	    "$$($(BIN)/coverage report --format=total --precision=1 --include="$${each%:*}/*")" "$${each#*:}"; \
	  $(BIN)/coverage report --include="$${each%:*}/*" --fail-under="$${each#*:}" >.cache/coverage/$${each%:*}.txt || \
	    { echo "error: below the floor; uncovered lines are in .cache/coverage/$${each%:*}.txt"; exit 1; }; \
	done

verify: binaries environment redis-server chromium chart-tools s3-server small-model web image-engine ## Run the expensive proofs: crashes, replicas, load, every browser state, the chart with real pods
	@CHECKLISTS_FULL_BROWSER=1 $(BIN)/python -m pytest $(or $(ARGS),$(IN_PROCESSES) -m verify tests)

flaky: binaries environment redis-server chromium-shell web ## Run a selection twenty times next to a busy process and count failures (ARGS="tests/cluster -k lease")
	@$(BIN)/python -m checklist_dev.checks.flaky $(ARGS)

check: environment ## Lint, types, layers, generated files
	$(call step,ruff)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	$(call step,mypy)
	@$(BIN)/mypy
	$(call step,import layers)
	@$(BIN)/lint-imports
	$(call step,generated CRDs are current)
	@$(BIN)/python -m checklist_crds.crd --check
	$(call step,the models of the composer are those of the labelled prompts)
	@$(BIN)/python -m checklist_dev.composer_training --check
	$(call step,the image holds what requirements.lock says)
	@$(BIN)/python -m checklist_dev.release.image lock --check
	$(call step,generated files are current: settings$(comma) chart$(comma) vectors)
	@$(BIN)/python -m checklist_dev.generate --check
	$(call step,language and links: citations of documents$(comma) links$(comma) words of the dialect)
	@$(BIN)/python -m checklist_dev.checks.citations
	@$(BIN)/python -m checklist_dev.checks.dialect
	$(call step,web: TypeScript$(comma) generated types of the REST contract)
	@$(BIN)/python -m checklist_dev.web check
	$(call step,web: nothing becomes HTML)
	@! grep -rnE 'dangerouslySetInnerHTML|(inner|outer)HTML|insertAdjacentHTML|document\.write' api/web \
	  --include='*.ts' --include='*.tsx' --exclude-dir=node_modules
	$(call step,no registry in a lock file)
	@! grep -n '://' $(LOCK_FILES)
	@! grep -n '"resolved"' $(NPM_LOCK_FILES)
	@printf '\nall checks passed\n'

audit: environment ## Ask public databases for known weaknesses of all locked packages (ARGS=--strict: all must be asked)
	@$(BIN)/python -m checklist_dev.release.audit $(ARGS)

web: environment ## Build the web app, when its sources have changed
	@$(BIN)/python -m checklist_dev.web build

web-dev: environment ## Work on the web app with hot reload, against the service of `make run` (ARGS=dashboard: the dashboard)
	@$(BIN)/python -m checklist_dev.web dev $(ARGS)

web-packages: environment
	@$(BIN)/python -m checklist_dev.web packages

rest-types: environment ## Generate the TypeScript types of the REST contract
	@$(BIN)/python -m checklist_dev.web types

screenshots: binaries environment chromium web web-packages ## Photograph what the browser tests look at, and the pictures of docs/, into .run/screenshots
	@rm -rf .run/screenshots
	@CHECKLISTS_FULL_BROWSER=1 $(BIN)/python -m checklist_dev.pictures
	@CHECKLISTS_FULL_BROWSER=1 CHECKLISTS_SCREENSHOTS=$(CURDIR)/.run/screenshots $(BIN)/python -m pytest $(IN_PROCESSES) \
	  $(or $(ARGS),tests/browser tests/dashboard)

bench: binaries environment chromium web ## Measure throughput and latency against a raw baseline (docs/benchmarks.md)
	@CHECKLISTS_FULL_BROWSER=1 $(BIN)/python -m checklist_dev.perf.bench $(ARGS)

eval: environment ## Judge the composer's templates of unseen prompts, then of known ones (ARGS="--help"; REGRESSION=1: known ones only; MODEL_URL=...: a language model's)
	@$(if $(REGRESSION),:,$(BIN)/python -m checklist_dev.evaluation.curve $(if $(MODEL_URL),--model-url '$(MODEL_URL)') $(if $(MODEL_NAME),--model-name '$(MODEL_NAME)') $(if $(MODEL_KEY_FILE),--model-key-file '$(MODEL_KEY_FILE)') $(ARGS))
	@$(if $(REGRESSION),$(BIN)/python -m checklist_dev.evaluation $(ARGS),$(if $(ARGS)$(MODEL_URL),:,$(BIN)/python -m checklist_dev.evaluation --below 0))

composer-model: environment ## Train the composer's models from the labelled prompts in composer/training (some minutes)
	@$(BIN)/python -m checklist_dev.composer_training $(ARGS)

chaos: binaries environment ## Kill API and operator at random and at every step, and count events (about twenty minutes)
	@$(BIN)/python -m checklist_dev.faults $(ARGS)

soak: binaries environment ## Half an hour of everything at once at a steady rate: nothing grows, all is accounted for (docs/benchmarks.md)
	@$(BIN)/python -m checklist_dev.perf.soak $(ARGS)

image: environment image-engine ## Build the image of API and operator (docker, podman or buildah; ARGS="--base local" without a registry)
	@$(BIN)/python -m checklist_dev.release.image build $(ARGS)

image-lock: environment
	@$(BIN)/python -m checklist_dev.release.image lock

chart: binaries environment chart-tools redis-server s3-server image-engine ## Render, validate, install, upgrade and uninstall the chart (a part of `make verify`)
	@$(BIN)/python -m pytest $(IN_PROCESSES) tests/chart/render tests/chart/install tests/chart/rbac tests/chart/node $(ARGS)

chart-files: environment ## Generate the chart's schema, README and definitions
	@$(BIN)/python -m checklist_dev.generate chart

crds: environment ## Generate crds/*.yaml from the models
	@$(BIN)/python -m checklist_crds.crd
	@$(BIN)/python -m checklist_dev.generate chart

settings: environment ## Generate docs/settings.md and the chart's schema of settings from the models
	@$(BIN)/python -m checklist_dev.generate settings chart

cluster: binaries environment ## Run a bare Kubernetes API on loopback and print its KUBECONFIG
	@$(BIN)/python -m checklist_dev.local.controlplane up $(ARGS)

lock: environment ## Resolve the dependencies again into requirements.lock
	@$$(sh hack/installer/uv.sh) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header --extra dev --extra otel --extra redis --extra cjk \
	  pyproject.toml -o requirements.lock
	@grep -c == requirements.lock | sed 's/$$/ packages in requirements.lock/'
	@sh hack/environment.sh && $(BIN)/python -m checklist_dev.release.image lock

clean: ## Remove everything that these targets made in this folder (the user's cache stays)
	@if [ -e .run/service.json ] && [ -x $(BIN)/python ]; then $(BIN)/python -m checklist_dev.local.service stop; fi
	rm -rf tests/signatures/node/node_modules examples/receivers/express/node_modules
	rm -rf tests/dashboard_auth/provider/node_modules
	rm -rf api/web/node_modules api/checklist_api/web_dist api/checklist_api/.web_dist-*
	rm -rf .venv .run .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@find . -name '*.egg-info' -type d -prune -exec rm -rf {} +

environment:
	@sh hack/environment.sh

# The programs of the control plane are fetched or built while the packages are installed.
binaries:
	@sh hack/environment.sh control-plane

chart-tools: environment
	@$(BIN)/python -m checklist_dev.programs.go_tools helm promtool prometheus >/dev/null

s3-server: environment
	@$(BIN)/python -m checklist_dev.programs.go_tools versitygw >/dev/null

small-model: environment
	@$(BIN)/python -m checklist_dev.programs.small_model >/dev/null

verifiers: environment
	@$(BIN)/python -m checklist_dev.programs.verifiers

# Docker is not asked of anybody who does not have it: Debian's buildah needs no daemon. A docker whose daemon does not
# answer builds nothing.
image-engine:
	@[ -z "$$CHECKLISTS_TEST_NODE" ] && [ "$(MAKECMDGOALS)" != image ] || timeout 20 docker info >/dev/null 2>&1 || \
	  sh hack/system_package.sh buildah 'it builds the image' podman buildah

redis-server:
	@sh hack/system_package.sh redis-server 'the tests of shared rate limits start it' redis-server

chromium-shell:
	@[ -n "$$CHECKLISTS_CHROMIUM" ] || sh hack/system_package.sh chromium-headless-shell 'browser tests drive it' \
	  chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable

chromium:
	@[ -n "$$CHECKLISTS_CHROMIUM" ] || sh hack/system_package.sh chromium 'browser tests drive it' \
	  chromium chromium-browser google-chrome google-chrome-stable
