# The everyday commands. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# The pinned Node and the workspace's tools come first, whatever the machine has.
export PATH := $(CURDIR)/node_modules/node/bin:$(CURDIR)/node_modules/.bin:$(PATH)

INSTALLED := node_modules/.installed
# What tests that run real pods need besides; only root can run them.
NODE_PARTS := runc:runc:- nft:nftables:- ip:iproute2:- busybox:busybox-static:- buildah:buildah:-

# What the commands against a cluster take: the image, the program that builds and pushes it, and kubectl with its own settings.
IMG ?= $(shell sed -n 's/^ *image: //p' config/manager/keyturn.yaml)
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
# Flags of `keyturn run`, for `make run-operator`.
ARGS ?=

.PHONY: install uninstall deploy undeploy manifests docker-build docker-push run-operator
.PHONY: help run test test-keycloak check lint format generate build image package audit bench bench-quick clean setup

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(INSTALLED) ## start a local Kubernetes control plane and show Keyturn at work on it (Ctrl-C stops it)
	@node tools/build-dashboard.ts
	@bin/keyturn dev

test: setup ## check everything: generated files, lint, types, all tests (K8S=oldest: on the oldest Kubernetes that is supported)
	@node tools/build-cluster.ts helm helm-unittest promtool
	@# The simulated API server is held to the newest one, whichever the other tests run on.
	@K8S=newest node tools/build-cluster.ts etcd kube-apiserver
	@node tools/generate.ts --check
	@npm run --silent lint
	@npm run --silent typecheck
	@npm run --silent test

test-keycloak: setup ## check OpenID registration against a real Keycloak, which Maven fetches (164 MB, once); needs Java 17 or newer and Maven
	@KEYCLOAK_HOME="$$(node tools/keycloak.ts)" && export KEYCLOAK_HOME && [ -n "$$KEYCLOAK_HOME" ] && npm run --silent test -- --project source test/eventing-auth/openid-servers.test.ts

check: $(INSTALLED) ## lint, types, and the tests that need no cluster: the daily loop, below a minute
	@npm run --silent lint
	@npm run --silent typecheck
	@# With a twentieth of the stories of rotation's model; `make test` has all of them.
	@MODEL_RUNS=5000 npm run --silent test -- --project unit

lint: $(INSTALLED) ## lint and check the format
	@npm run --silent lint

format: $(INSTALLED) ## rewrite all source in the project's format
	@npm run --silent format

generate: $(INSTALLED) ## write the generated files anew: CRDs, RBAC, reference pages
	@node tools/generate.ts

build: $(INSTALLED) ## bundle the program into dist/keyturn.mjs, with its bill of materials and licences
	@node tools/build.ts

image: build ## pack the program and this machine's Node into dist/keyturn.oci.tar, an image for `docker load`, `ctr images import`, `kind load` or `skopeo`
	@node tools/image.ts

package: $(INSTALLED) ## pack the runtime and `npm create @keyturn/operator` as users install them, in dist/npm/
	@node tools/package.ts

manifests: generate ## the same as `make generate`

install: ## install the CRDs into the cluster of the current context
	@$(KUBECTL) apply --server-side -k config/crd

uninstall: ## remove the CRDs; refused while there are objects of these kinds, which would go with them (OBJECTS=delete: remove them too)
	@left="$$($(KUBECTL) get keyturn --all-namespaces --output name --ignore-not-found 2>&1)" || case "$$left" in \
	  *"have a resource type"*) left="" ;; \
	  *) printf '%s\n' "$$left" >&2; exit 1 ;; \
	esac; \
	if [ -n "$$left" ] && [ "$(OBJECTS)" != delete ]; then \
	  printf '%s\n' "$$left" >&2; \
	  echo "make uninstall: these objects would be deleted with their CRDs; delete them first, or run: make uninstall OBJECTS=delete" >&2; \
	  exit 1; \
	fi
	@$(KUBECTL) delete --ignore-not-found -k config/crd

deploy: install ## install the operator with the image IMG=… into the cluster of the current context
	@for part in manager rbac; do $(KUBECTL) kustomize config/$$part; echo ---; done | \
	  sed 's|^\( *image: \)ghcr.io/keyturn/keyturn:.*|\1$(IMG)|' | $(KUBECTL) apply --server-side -f -

undeploy: ## remove the operator; CRDs, and with them all objects, stay
	@$(KUBECTL) delete --ignore-not-found -k config/rbac
	@$(KUBECTL) delete --ignore-not-found -k config/manager

run-operator: $(INSTALLED) ## run the operator on this machine against the cluster of the current context (ARGS='--controllers=rotation'), with your own rights
	@bin/keyturn run --metrics-bind-address=0 --log-format=text $(ARGS)

docker-build: ## build the image IMG=… with Docker, on the bases' present digests
	@set -eu; \
	digest() { $(CONTAINER_TOOL) buildx imagetools inspect "$$(sed -n "s/^ARG $$1=//p" Dockerfile)" --format '{{.Manifest.Digest}}'; }; \
	builder="$$(digest BUILDER)"; base="$$(digest BASE)"; \
	$(CONTAINER_TOOL) build --build-arg "BUILDER_DIGEST=$$builder" --build-arg "BASE_DIGEST=$$base" --tag "$(IMG)" .

docker-push: ## push the image IMG=…
	@$(CONTAINER_TOOL) push "$(IMG)"

audit: $(INSTALLED) ## check signatures and known vulnerabilities of all npm packages (asks the registry)
	@npm audit signatures
	@npm audit --omit=dev

bench: setup ## measure next to the peers (about 25 minutes)
	@node bench/main.ts

bench-quick: setup ## the ratios at small sizes, held against the baseline (below 5 minutes)
	@node bench/main.ts --quick

clean: ## remove what the commands above made in this folder (the build cache of the cluster stays)
	@rm -rf node_modules packages/*/node_modules packages/*/dist dist coverage .keyturn

setup: $(INSTALLED) # everything that tests and benchmarks need
	@tools/install-system-parts
	@node tools/python.ts >/dev/null
	@node tools/oldest-node.ts >/dev/null
	@if [ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then tools/install-system-parts $(NODE_PARTS); fi
	@node tools/build-dashboard.ts
	@node tools/build-cluster.ts

$(INSTALLED): package.json package-lock.json packages/*/package.json
	@tools/check-prerequisites
	@echo "installing the npm packages (once)"
	@# Not `npm ci`: it wants the lock file to name the packages of every platform, and some registries do not carry all of them. The lock file is followed and not changed.
	@# No package's own script runs, but that of `node`, which fetches the Node of this platform.
	@npm install --no-save --ignore-scripts --no-progress --loglevel=error
	@npm rebuild --loglevel=error node
	@touch $@
