# Tasks for development and reproduction, on a machine with a Rust toolchain, Python 3 and the package registries.
PYTHON ?= python3
CARGO ?= cargo
# The directory with the benchmark's data sets: make bench DATA=...
DATA ?=
# More options for the benchmark: make bench DATA=... BENCH="--only speed --rounds 3"
BENCH ?=
# What make reproduce runs, where its page goes, and more options, such as REPRODUCE="--repeats 3 --workers 2"
EXPERIMENT ?= all
OUT ?= $(TARGET)/evidence
REPRODUCE ?=
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEMO := $(TARGET)/demo

.DEFAULT_GOAL := help
.PHONY: help test python package page demo bench reproduce reproduce-quick evidence evidence-tools docs generate clean fuzz fuzz-keep site \
	fuzz-arrow torture soak deny sanitize exports cluster spark newcomer wheels crates

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The Python tools are installed while Rust is compiled: both take minutes the first time.
test: ## Check everything: format, lints, tests, doctests, layers, Python
	@echo "swarmwood: checking (the first time also compiles the dependencies, some minutes)"
	@mkdir -p $(TARGET) && { $(MAKE) --no-print-directory bench/.venv/ready $(TOOLS)/ready >$(TARGET)/tools.log 2>&1 & \
		tools=$$!; $(CARGO) xtask check; checked=$$?; \
		wait $$tools || { cat $(TARGET)/tools.log; echo "FAILED  installation of the Python tools"; exit 1; }; exit $$checked; }
	@$(MAKE) --no-print-directory python
	@echo "swarmwood: all checks passed"

python: bench/.venv/ready package
	@bench/.venv/bin/ruff check --quiet bench && bench/.venv/bin/ruff format --quiet --check bench \
		|| { echo "FAILED  Python style; bench/.venv/bin/ruff check --fix bench && bench/.venv/bin/ruff format bench"; exit 1; }
	@echo "  ok  Python style"
	@bench/.venv/bin/python -m pytest -q bench >bench/.venv/pytest.log 2>&1 \
		|| { cat bench/.venv/pytest.log; echo "FAILED  Python tests"; exit 1; }
	@echo "  ok  Python tests"

# The wheel of the Python package is installed in a new environment, which uses the pinned tools.
TOOLS := $(abspath $(TARGET))/python-tools
FRESH := $(abspath $(TARGET))/python
WHEELS := $(abspath $(TARGET))/wheels
# As in .cargo/config.toml, for maturin, too: otherwise it compiles the extension module each time.
export PYO3_CONFIG_FILE := $(abspath crates/swarmwood-python/interpreter.txt)

package: $(TOOLS)/ready ## Build the Python package, install and check it
	@$(TOOLS)/bin/ruff check --quiet python packaging && $(TOOLS)/bin/ruff format --quiet --check python packaging \
		|| { echo "FAILED  style of the Python package; ruff check --fix python packaging && ruff format python packaging"; exit 1; }
	@$(CARGO) build --quiet --workspace --all-features --bin swarmwood
	@rm -rf $(WHEELS) && CARGO_TARGET_DIR=$(abspath $(TARGET)) $(TOOLS)/bin/maturin build --quiet --profile dev \
		--features as-in-workspace --interpreter $(TOOLS)/bin/python --out $(WHEELS) >$(TOOLS)/maturin.log 2>&1 \
		|| { cat $(TOOLS)/maturin.log; echo "FAILED  wheel of the Python package"; exit 1; }
	@$(TOOLS)/bin/python -m venv --clear --without-pip $(FRESH)
	@echo $(TOOLS)/lib/python3.*/site-packages >$$(echo $(FRESH)/lib/python3.*/site-packages)/tools.pth
	@$(TOOLS)/bin/python -m pip --python $(FRESH)/bin/python install --quiet --disable-pip-version-check --no-deps \
		--ignore-installed $(WHEELS)/*.whl
	@$(FRESH)/bin/python -m mypy >$(FRESH)/mypy.log || { cat $(FRESH)/mypy.log; echo "FAILED  types of the Python package"; exit 1; }
	@SWARMWOOD_COMMAND_LINE=$(abspath $(TARGET))/debug/swarmwood $(FRESH)/bin/python -m pytest -q python/tests \
		>$(FRESH)/pytest.log 2>&1 || { cat $(FRESH)/pytest.log; echo "FAILED  tests of the Python package"; exit 1; }
	@echo "  ok  Python package"

$(TOOLS)/ready: python/requirements.txt
	@echo "swarmwood: preparing the tools of the Python package (some minutes the first time)"
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement python/requirements.txt
	@touch $@

# Dask and Ray are large and optional, so that their tests have an environment of their own. KILLS is the number of runs
# in which workers are killed.
CLUSTER := $(abspath $(TARGET))/cluster-venv
KILLS ?= 4
cluster: package $(CLUSTER)/ready ## Train on local Dask and Ray clusters, and kill workers: make cluster KILLS=100
	@$(CLUSTER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WHEELS)/*.whl
	@cd $(TARGET) && SWARMWOOD_KILLS=$(KILLS) $(CLUSTER)/bin/python -m pytest -q $(abspath python/tests/test_dask.py) \
		$(abspath python/tests/test_ray.py)
	@echo "  ok  Dask and Ray"

$(CLUSTER)/ready: pyproject.toml
	@echo "swarmwood: preparing the environment of the cluster tests (some minutes the first time)"
	@$(TOOLS)/bin/python -m venv $(CLUSTER)
	@$(CLUSTER)/bin/python -m pip install --quiet --disable-pip-version-check "dask[array,dataframe,distributed]" ray pandas \
		pyarrow scikit-learn pytest
	@touch $@

# What is published for Python: a wheel for every CPython from 3.11 on and every Linux with glibc 2.17 or later, which the
# linker of Zig makes on any machine, and the source distribution.
RELEASE := $(abspath $(TARGET))/release-tools
# Not target/dist, where cargo keeps what it compiles with the profile dist.
DIST := $(abspath $(TARGET))/published
MANYLINUX := manylinux2014
wheels: $(RELEASE)/ready ## Build and check what is published for Python: a manylinux wheel and the source distribution
	@rm -rf $(DIST) && export PATH=$(RELEASE)/bin:$$PATH CARGO_TARGET_DIR=$(abspath $(TARGET)) && \
		maturin build --quiet --profile dist --zig --compatibility $(MANYLINUX) --interpreter $(RELEASE)/bin/python --out $(DIST) && \
		maturin sdist --out $(DIST) >$(RELEASE)/sdist.log 2>&1 || { cat $(RELEASE)/sdist.log; exit 1; }
	@$(RELEASE)/bin/python packaging/check_wheel.py $(DIST)/*.whl
	@$(RELEASE)/bin/python packaging/check_recipes.py
	@$(RELEASE)/bin/twine check --strict $(DIST)/*

$(RELEASE)/ready: packaging/requirements.txt
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --requirement packaging/requirements.txt
	@touch $@

crates: ## Package the crates as for publication and compile each from its archive
	@$(CARGO) package --quiet --workspace --exclude swarmwood-python --exclude swarmwood-fuzz --exclude xtask
	@ls -1 $(TARGET)/package/*.crate && echo "  ok  crates"

# Uses the network: the environment has nothing but the wheel and what it depends on.
newcomer: wheels ## Install the published wheel in an empty environment and go from there to a report page
	@python/newcomer.sh $(PYTHON) $(DIST)/*.whl $(abspath $(TARGET))/newcomer

# Report pages in a browser. Not part of `make test`, because it needs Chromium (a system package) and Node.
BROWSER ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
PAGES := $(abspath $(TARGET))/pages

page: ## Check report pages in Chromium, if it is installed
	@if [ -z "$(BROWSER)" ] || ! command -v npm >/dev/null; then \
		echo "skipped: make page needs Chromium (apt-get install chromium, or BROWSER=path) and Node with npm"; exit 0; fi; \
	$(CARGO) build --quiet --package swarmwood-cli && mkdir -p $(PAGES) && \
	npm install --silent --no-audit --no-fund --prefix $(PAGES) playwright-core@1.56.1 && \
	node crates/swarmwood-cli/tests/page.mjs $(TARGET)/debug/swarmwood "$(BROWSER)" $(PAGES) && \
	node crates/swarmwood-cli/tests/whatif.mjs $(abspath $(TARGET))/debug/swarmwood "$(BROWSER)" $(PAGES) && \
	echo "pages and screenshots are in $(PAGES)"

exports: package ## Check every export of every kind of model, and of a thousand random models
	@SWARMWOOD_ALL_EXPORTS=1 $(FRESH)/bin/python -m pytest -q python/tests/test_export.py
	@SWARMWOOD_TEST_PYTHON=$(FRESH)/bin/python $(CARGO) test --quiet --package swarmwood --all-features --test export \
		-- --ignored --nocapture

# Scoring on Spark, in an environment of its own. Not part of `make test`, because it needs Java and 400 MB of packages.
SPARK := $(abspath $(TARGET))/spark
$(SPARK)/ready:
	@$(PYTHON) -m venv $(SPARK) && $(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check \
		pyspark==4.3.0 pyarrow pandas polars duckdb scikit-learn pytest && touch $@

spark: ## Check scoring on Spark, if Java is installed (after make package)
	@if ! command -v java >/dev/null; then echo "skipped: make spark needs Java (apt-get install default-jre-headless)"; exit 0; fi; \
	$(MAKE) --no-print-directory $(SPARK)/ready && \
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WHEELS)/*.whl && \
	SWARMWOOD_COMMAND_LINE=$(abspath $(TARGET))/debug/swarmwood PYSPARK_PYTHON=$(SPARK)/bin/python \
		$(SPARK)/bin/python -m pytest -q python/tests/test_documentation.py -k scoring

# The documentation as a site, in an environment of its own; every warning, such as a broken link, is an error.
SITE := $(TARGET)/site-tools
$(SITE)/ready: docs/requirements.txt
	@$(PYTHON) -m venv $(SITE) && $(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt && touch $@

site: $(SITE)/ready ## Build the documentation as a site
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict && echo "the site is in target/site"

# Three artificial rows for the demonstration.
define WINES
fixed acidity,volatile acidity,citric acid,residual sugar,chlorides,free sulfur dioxide,total sulfur dioxide,density,pH,sulphates,alcohol,quality
7.5,0.71,0.02,1.9,0.076,12,35,0.9977,3.5,0.55,9.4,5
8.9,0.32,0.45,2.1,0.061,14,30,0.9951,3.3,0.82,12.6,7
7.0,0.58,,2.2,0.083,20,60,0.9966,3.3,0.62,10.4,6
endef
export WINES

demo: ## Train, inspect, predict and evaluate with built-in data
	@echo "Building the command line (some minutes the first time) ..."
	@$(CARGO) build --quiet --package swarmwood-cli
	@mkdir -p $(DEMO) && cp $(TARGET)/debug/swarmwood $(DEMO)/ && echo "$$WINES" >$(DEMO)/wines.csv
	@cd $(DEMO) && PATH="$$PWD:$$PATH" && step() { printf '\n%s\n$$ %s\n' "$$1" "$$2"; eval "$$2"; } && \
	step "1. Train on the built-in red wine data; a fifth of the rows are validation rows." \
		"swarmwood train --demo --valid-fraction 0.2 --out wine.json" && \
	step "2. Inspect the model: feature importances and the first tree." "swarmwood inspect wine.json --trees 1" && \
	step "3. Predict three artificial rows, one of them with a missing value." "swarmwood predict wine.json wines.csv --out -" && \
	step "4. Evaluate rows with a known target (artificial as well)." "swarmwood evaluate wine.json wines.csv"
	@echo
	@echo "The files are in $(DEMO). With your own data: swarmwood train data.csv --target NAME --out model.json"

bench: bench/.venv/ready ## Compare with other libraries: make bench DATA=directory
	@$(CARGO) build --quiet --release --package swarmwood-cli
	@bench/.venv/bin/python bench/run.py $(if $(DATA),--data $(DATA)) --swarmwood $(TARGET)/release/swarmwood $(BENCH)

# The binary that is measured, the program that evaluates the configurations of other tuners, and the Python package, whose
# engines tune XGBoost.
evidence-tools: bench/.venv/ready $(TOOLS)/ready
	@$(CARGO) build --quiet --release --package swarmwood-cli
	@$(CARGO) build --quiet --release --package swarmwood --example evaluate_configs
	@rm -rf $(WHEELS)-release && CARGO_TARGET_DIR=$(abspath $(TARGET)) $(TOOLS)/bin/maturin build --quiet --release \
		--features as-in-workspace --interpreter $(TOOLS)/bin/python --out $(WHEELS)-release >$(TOOLS)/maturin.log 2>&1 \
		|| { cat $(TOOLS)/maturin.log; echo "FAILED  wheel of the Python package"; exit 1; }
	@bench/.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WHEELS)-release/*.whl

REPRODUCE_WITH = bench/.venv/bin/python bench/reproduce.py --binary $(TARGET)/release/swarmwood \
	--judge $(TARGET)/release/examples/evaluate_configs

reproduce: evidence-tools ## Reproduce the tables of a paper: make reproduce EXPERIMENT=tree DATA=directory OUT=directory
	@$(REPRODUCE_WITH) $(EXPERIMENT) $(if $(DATA),--data $(DATA)) --out $(OUT) $(REPRODUCE)

reproduce-quick: evidence-tools ## Run all experiments on a small scale, without a data directory
	@$(REPRODUCE_WITH) all --quick --out $(TARGET)/evidence-quick

evidence: reproduce-quick ## Run the small scale, then, with DATA=directory, all experiments in full
	@$(if $(DATA),$(MAKE) --no-print-directory reproduce EXPERIMENT=all,echo "give DATA=directory to run everything in full")

# Fuzzing with the coverage pass of the compiler, for one target or for all in turn.
# What was found stays in $(TARGET)/fuzz/found; `make fuzz-keep` renews the corpora in git with it.
SECONDS ?= 140
FUZZ ?= all
SEED ?= 1
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
FOUND := $(TARGET)/fuzz/found
FUZZER := $(TARGET)/fuzz/$(HOST)/fuzz/swarmwood-fuzz
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters

$(FUZZER): FORCE
	@RUSTFLAGS="$(COVERAGE)" $(CARGO) build --quiet --profile fuzz --target $(HOST) --target-dir $(TARGET)/fuzz --package swarmwood-fuzz

fuzz: $(FUZZER) ## Fuzz readers and training: make fuzz SECONDS=600 FUZZ=parquet SEED=7
	@$(FUZZER) run $(FUZZ) $(SECONDS) $(SEED) $(FOUND)

fuzz-keep: $(FUZZER)
	@$(FUZZER) keep $(FUZZ) $(FOUND)

EXECUTIONS ?= 100000
fuzz-arrow: ## Fuzz the Arrow interface of the Python package: make fuzz-arrow EXECUTIONS=1000000 SEED=7
	@ARROW_EXECUTIONS=$(EXECUTIONS) ARROW_SEED=$(SEED) $(FRESH)/bin/python -m pytest -q -s python/tests/test_arrow_fuzz.py

FORCE:

# The long versions of tests: the whole kill matrix, the leak test, and models of the development build compared with those
# of the release build.
torture: ## Run the long reliability tests: every kill, leaks, debug ≡ release (ten minutes and more)
	@$(CARGO) test --quiet --package swarmwood-cli --all-features --release --test cli -- --ignored torture --nocapture
	@$(CARGO) test --quiet --package swarmwood-fuzz --release --test leaks -- --ignored torture --nocapture
	@MODELS=$(abspath $(TARGET))/models-debug $(CARGO) test --quiet --package swarmwood --all-features --test determinism -- --ignored store
	@MODELS=$(abspath $(TARGET))/models-release $(CARGO) test --quiet --package swarmwood --all-features --test determinism --release -- --ignored store
	@diff -r $(TARGET)/models-debug $(TARGET)/models-release && echo "  ok  debug and release models are the same bytes"

HOURS ?= 2
soak: ## Random runs, kills and tables for hours: make soak HOURS=2 SEED=7
	@$(CARGO) build --quiet --release --package swarmwood-cli --package swarmwood-fuzz
	@$(TARGET)/release/swarmwood-soak $(TARGET)/release/swarmwood $(HOURS) $(SEED) $(TARGET)/soak

deny: ## Check licences, sources and known vulnerabilities of dependencies (needs cargo-deny)
	@$(CARGO) deny --all-features check

# Races and memory errors: the pool in every interleaving of a few threads; pool, kernels and backends, and all readers, with
# checked memory. The sanitizer needs a compiler's unstable option, but no other compiler. With a nightly toolchain that has the
# components miri and rust-src, the pool also runs in Miri, and all but the readers under ThreadSanitizer. The fuzz targets keep
# their tables for the whole process, so leaks are left to the leak test.
NIGHTLY ?= nightly
CHECKED := RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address $(CARGO) test --quiet --target $(HOST) --target-dir $(TARGET)/address
PARTS := pool:: kernels:: stats::
sanitize: ## Run tests of threads, kernels and readers in all interleavings and with checked memory
	@cd fuzz/pool-model && RUSTFLAGS="--cfg loom" $(CARGO) test --quiet --release --target-dir $(abspath $(TARGET))/loom
	@$(CHECKED) --package swarmwood-learn --lib -- $(PARTS)
	@ASAN_OPTIONS=detect_leaks=0 $(CHECKED) --package swarmwood-fuzz --test smoke
	@if ! $(CARGO) +$(NIGHTLY) miri --version >/dev/null 2>&1; then echo "skipped: Miri and ThreadSanitizer need the components" \
		"miri and rust-src of a nightly toolchain"; exit 0; fi; \
	MIRIFLAGS="-Zmiri-many-seeds=0..16 -Zmiri-disable-isolation" $(CARGO) +$(NIGHTLY) miri test --quiet \
		--target-dir $(TARGET)/miri --package swarmwood-learn --lib pool:: && \
	RUSTFLAGS=-Zsanitizer=thread $(CARGO) +$(NIGHTLY) test --quiet -Zbuild-std --target $(HOST) --target-dir $(TARGET)/thread \
		--package swarmwood-learn --lib -- $(PARTS)

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
