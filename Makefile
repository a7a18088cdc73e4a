# Everything a newcomer needs, on a machine with a Rust toolchain, Python 3 and the package registries.
PYTHON ?= python3
CARGO ?= cargo
# The directory with the benchmark's data sets: make bench DATA=...
DATA ?=
# More options for the benchmark: make bench DATA=... BENCH="--only speed --rounds 3"
BENCH ?=
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEMO := $(TARGET)/demo

.DEFAULT_GOAL := help
.PHONY: help test python demo bench docs generate clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: bench/.venv/ready ## Check everything: format, lints, tests, doctests, layers, Python
	@echo "swarmwood: checking (the first time also compiles the dependencies, some minutes)"
	@$(CARGO) xtask check
	@$(MAKE) --no-print-directory python
	@echo "swarmwood: all checks passed"

python: bench/.venv/ready
	@bench/.venv/bin/ruff check --quiet bench && bench/.venv/bin/ruff format --quiet --check bench \
		|| { echo "FAILED  Python style; bench/.venv/bin/ruff check --fix bench && bench/.venv/bin/ruff format bench"; exit 1; }
	@echo "  ok  Python style"
	@bench/.venv/bin/python -m pytest -q bench >bench/.venv/pytest.log 2>&1 \
		|| { cat bench/.venv/pytest.log; echo "FAILED  Python tests"; exit 1; }
	@echo "  ok  Python tests"

demo: ## Train, evaluate and look into a model on packaged data
	@echo "Building the command line (some minutes the first time) ..."
	@$(CARGO) build --quiet --package swarmwood-cli
	@mkdir -p $(DEMO)
	@echo
	@echo "1. Train on the red wine data that comes with the program; a fifth of the rows is held back."
	@echo "   $$ swarmwood train --demo --trees 200 --depth 4 --valid-fraction 0.2 --early-stopping-rounds 20 --out wine.json"
	@$(TARGET)/debug/swarmwood train --demo --trees 200 --depth 4 --valid-fraction 0.2 --early-stopping-rounds 20 \
		--out $(DEMO)/wine.json
	@echo
	@echo "2. Look inside."
	@echo "   $$ swarmwood inspect wine.json --trees 1"
	@$(TARGET)/debug/swarmwood inspect $(DEMO)/wine.json --trees 1
	@echo
	@echo "The model is $(DEMO)/wine.json. Your own data: swarmwood train data.csv --target NAME --out model.json"

bench: bench/.venv/ready ## Compare with the peers: make bench DATA=directory
	@$(CARGO) build --quiet --release --package swarmwood-cli
	@bench/.venv/bin/python bench/run.py $(if $(DATA),--data $(DATA)) --swarmwood $(TARGET)/release/swarmwood $(BENCH)

bench/.venv/ready: bench/requirements.txt
	@echo "swarmwood: preparing the Python tools in bench/.venv (some minutes the first time)"
	@$(PYTHON) -m venv bench/.venv
	@bench/.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/requirements.txt
	@touch $@

docs: ## Build the API documentation
	@$(CARGO) doc --workspace --no-deps --quiet
	@echo "open $(TARGET)/doc/swarmwood/index.html"

generate: ## Rewrite generated files such as docs/parameters.md
	@$(CARGO) xtask generate

clean: ## Remove build results and Python environments
	@$(CARGO) clean --quiet
	@rm -rf bench/.venv
