# Every target works from a fresh clone: it makes its own environment (.venv), says what it does, and says what is
# missing. Nothing is installed outside this folder but, where root allows it, the system packages that tests need, and
# the control plane's programs (and Node, for a machine without it) in the user's cache.

.DEFAULT_GOAL := help
.PHONY: help run stop demo test check bench chaos web web-dev web-packages rest-types screenshots crds cluster lock
.PHONY: clean environment binaries s3-server redis-server chromium

PYTHON ?=
export PYTHON
export PYTHONUNBUFFERED := 1

BIN := .venv/bin
LOCK_FILES := requirements.lock hack/controlplane/go-toolchain.txt hack/node-toolchain.txt
# A lock file names packages and hashes. An address in it would bind everybody to one registry.
step = @printf '\n== %s\n' '$(1)'
comma := ,

help: ## Show this list
	@echo 'usage: make TARGET'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'settings: CHECKLISTS_PORT, CHECKLISTS_RETRY_GAPS, CHECKLISTS_RATE_LIMIT, KUBECONFIG; more in docs/development.md'

run: environment web ## Serve: control plane, API and operator (DETACH=1: return when ready; KUBECONFIG=...: use that cluster)
	@$(BIN)/python -m checklist_dev.service run $(if $(filter-out 0 no false,$(DETACH)),--detach,--end-with-parent)

stop: environment ## End what `make run` started
	@$(BIN)/python -m checklist_dev.service stop

demo: environment chromium binaries web ## Run the main job on real checklists, with a transcript of what was checked
	@$(BIN)/python -m checklist_dev.demo $(ARGS)

test: environment redis-server chromium binaries s3-server web ## Run all tests (ARGS="tests/unit -k word" for some)
	@$(if $(ARGS),:,$(BIN)/python -m checklist_dev.web test)
	@$(BIN)/python -m pytest $(or $(ARGS),tests)

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
	$(call step,web: TypeScript$(comma) generated types of the REST contract)
	@$(BIN)/python -m checklist_dev.web check
	$(call step,web: nothing becomes HTML)
	@! grep -rnE 'dangerouslySetInnerHTML|(inner|outer)HTML|insertAdjacentHTML|document\.write' api/web \
	  --include='*.ts' --include='*.tsx' --exclude-dir=node_modules
	$(call step,no registry in a lock file)
	@! grep -n '://' $(LOCK_FILES)
	@! grep -n '"resolved"' api/web/package-lock.json
	@printf '\nall checks passed\n'

web: environment ## Build the web app, when its sources have changed
	@$(BIN)/python -m checklist_dev.web build

web-dev: environment ## Work on the web app with hot reload, against the service of `make run`
	@$(BIN)/python -m checklist_dev.web dev

web-packages: environment
	@$(BIN)/python -m checklist_dev.web packages

rest-types: environment ## Generate the TypeScript types of the REST contract
	@$(BIN)/python -m checklist_dev.web types

screenshots: environment chromium binaries web web-packages ## Photograph each state of the web app into .run/screenshots
	@$(BIN)/python -m checklist_dev.screenshots $(ARGS)

bench: environment chromium binaries web ## Measure throughput and latency against a raw baseline (docs/benchmarks.md)
	@$(BIN)/python -m checklist_dev.bench $(ARGS)

chaos: environment binaries ## Kill API and operator at random under load and count events (about ten minutes)
	@$(BIN)/python -m checklist_dev.chaos $(ARGS)

crds: environment ## Generate crds/*.yaml from the models
	@$(BIN)/python -m checklist_crds.crd

cluster: environment ## Run a bare Kubernetes API on loopback and print its KUBECONFIG
	@$(BIN)/python -m checklist_dev.controlplane up $(ARGS)

lock: environment ## Resolve the dependencies anew into requirements.lock
	@test -x .cache/uv/bin/uv || { echo 'installing uv into .cache/uv'; \
	  $(BIN)/python -m venv .cache/uv && .cache/uv/bin/python -m pip install --quiet --disable-pip-version-check uv; }
	@.cache/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-annotate --no-header --extra dev --extra redis pyproject.toml -o requirements.lock
	@grep -c == requirements.lock | sed 's/$$/ packages in requirements.lock/'

clean: ## Remove everything that these targets made in this folder (the user's cache stays)
	@if [ -e .run/service.json ] && [ -x $(BIN)/python ]; then $(BIN)/python -m checklist_dev.service stop; fi
	rm -rf api/web/node_modules api/checklist_api/web_dist api/checklist_api/.web_dist-*
	rm -rf .venv .run .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@find . -name '*.egg-info' -type d -prune -exec rm -rf {} +

environment:
	@sh hack/environment.sh

binaries: environment
	@$(BIN)/python -m checklist_dev.controlplane binaries >/dev/null

s3-server: environment
	@$(BIN)/python -m checklist_dev.s3_server >/dev/null

redis-server:
	@sh hack/system_package.sh redis-server 'the tests of shared rate limits start it' redis-server

chromium:
	@[ -n "$$CHECKLISTS_CHROMIUM" ] || sh hack/system_package.sh chromium 'browser tests drive it' \
	  chromium chromium-browser google-chrome google-chrome-stable
