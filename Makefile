# One door for everything. `make help` lists the targets.

# Where everything is built; the program ends up in target/release/ripstop.
TARGET ?= $(CURDIR)/target
export CARGO_TARGET_DIR := $(TARGET)

# The version of cargo-deny that `make deny` installs.
CARGO_DENY = 0.20.2

.PHONY: help build demo test accept oracle papers plan-report deny bench soak flags fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

build: ## build the program: target/release/ripstop
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-cli

demo: ## the same transfer over a lossy link, scheme by scheme; ARGS="--loss 20%" changes the link
	@tools/need.sh cargo cc ip
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop demo $(ARGS)

test: ## every check: format, lints, documentation, unit, property, integration, namespace tests
	@tools/need.sh cargo cc ip
	@tools/test.sh

accept: ## measure the figures that the product is to reach (about 22 minutes on a quiet machine); RUNS=1 for a quick look
	@tools/need.sh cargo cc ip
	RIPSTOP_ACCEPT_RUNS=$(RUNS) cargo test --release --locked -p ripstop-cli --features accept --test accept -- --nocapture --test-threads=1

oracle: ## the simulator against ns-2's results, cell by cell (3 minutes)
	@tools/need.sh cargo cc
	cargo test --release --locked -p ripstop-sim --features oracle --test oracle -- --nocapture --exact every_cell_agrees_with_ns2

papers: ## the papers' models and experiments computed again, with pages and figures in docs/papers (13 CPU minutes); ARGS="000.fig12" picks
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop papers run --store $(TARGET)/papers.redb --pages docs/papers --numbers papers $(ARGS)
	$(TARGET)/release/ripstop papers check --dir papers --pages docs/papers > /dev/null

plan-report: ## fit the planner to simulations of one seed, report its errors on another: crates/model/data, docs/plan-report.md (two hours)
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop plan campaign --seed 1 --links 200 --plain-links 1000 --store $(TARGET)/plan.redb --data $(TARGET)/plan-links.toml > /dev/null
	cargo run --release --locked -p ripstop-model --example fit-plan -- $(TARGET)/plan-links.toml crates/model/data/plan-weights.toml
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop plan campaign --seed 10 --links 200 --store $(TARGET)/plan.redb --page docs/plan-report.md --errors crates/model/data/plan-errors.toml --data crates/model/data/plan-report.toml > /dev/null

deny: ## advisories, licences, duplicate and foreign crates of the dependency tree (cargo-deny, built once)
	@tools/need.sh cargo cc
	@test -x $(TARGET)/tools/bin/cargo-deny || cargo install --locked --version $(CARGO_DENY) --root $(TARGET)/tools cargo-deny
	$(TARGET)/tools/bin/cargo-deny --locked check

bench: ## time kernels and coders (criterion), all of it beside its anchors (ripstop speed), the simulator beside ns-2 (7 minutes)
	@tools/need.sh cargo cc
	cargo bench --locked -p ripstop-gf256 --bench kernels
	cargo bench --locked -p ripstop-codes --features bench --bench coders
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop speed
	cargo run --release --locked -p ripstop-sim --example speed

soak: ## 10 000 random hostile sessions in virtual time (about 40 minutes on 2 cores); RUNS=100 FIRST=7 picks others
	@tools/need.sh cargo cc
	cargo run --release --locked -p ripstop-sim --example soak -- $(or $(RUNS),10000) $(or $(FIRST),0)

flags: ## write docs/flags.md from the program's definitions
	@tools/need.sh cargo cc
	UPDATE_FLAGS=1 cargo test --locked -p ripstop-cli --bin ripstop flag_reference

fmt: ## format the code
	@tools/need.sh cargo
	cargo fmt --all

clean: ## remove what was built
	rm -rf "$(TARGET)"
