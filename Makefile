# Targets that build, test and measure Ripstop. `make help` lists them.

# The directory for everything that is built. The program is target/release/ripstop.
TARGET ?= $(CURDIR)/target
export CARGO_TARGET_DIR := $(TARGET)

# The version of cargo-deny that `make deny` installs.
CARGO_DENY = 0.20.2
# The version of cargo-fuzz that `make fuzz` installs.
CARGO_FUZZ = 0.13.2
# The version of boringtun-cli that `make compare` installs.
BORINGTUN = 0.7.1

.PHONY: help build demo test accept compare oracle papers plan-report deny bench sensitivity do-no-harm soak soak-wire fuzz flags fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

build: ## build the program: target/release/ripstop
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-cli

demo: ## run the same transfer over a lossy link with each scheme; ARGS="--loss 20%" changes the link
	@tools/need.sh cargo cc ip
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop demo $(ARGS)

test: ## run every check: format, lints, documentation, unit, property, integration and namespace tests
	@tools/need.sh cargo cc ip
	@tools/test.sh

accept: ## check that the program reaches its target figures, medians of RUNS=3 (about 85 minutes on an idle machine, 28 with RUNS=1); ONLY="shares,fair" measures some of shares, tails, fair, steps, speed, demo, agree
	@tools/need.sh cargo cc ip
	RIPSTOP_ACCEPT_RUNS=$(RUNS) RIPSTOP_ACCEPT_ONLY=$(ONLY) cargo test --release --locked -p ripstop-cli --features accept --test accept

compare: ## compare kernel TCP, Ripstop, kcptun, boringtun, wireguard-go and Hysteria on the same emulated links (about 50 minutes for each run; RUNS=1); LINKS="5,20" CONTENDERS="bbr,kcptun" REQUESTS=100 measure a part; PAGE=docs/researchers/compare.md writes the page, with the sentence NOTE
	@tools/need.sh cargo cc ip
	@test -x $(TARGET)/tools/bin/boringtun-cli || cargo install --locked --version $(BORINGTUN) --root $(TARGET)/tools boringtun-cli || echo "boringtun is missing"
	@if command -v go > /dev/null; then cd crates/net/examples/compare/hysteria && go build -trimpath -buildvcs=false -o $(TARGET)/tools/bin/hysteria-forward . || echo "Hysteria is missing"; fi
	cargo build --release --locked -p ripstop-net --example compare
	$(TARGET)/release/examples/compare --tools $(TARGET)/tools/bin --commit "$$(git rev-parse --short HEAD)" --runs $(or $(RUNS),1) --requests $(or $(REQUESTS),400) --links "$(LINKS)" --contenders "$(CONTENDERS)" --note "$(NOTE)" $(if $(PAGE),--page $(PAGE))

oracle: ## compare the simulator with recorded results of ns-2, cell by cell (4 minutes)
	@tools/need.sh cargo cc
	cargo test --release --locked -p ripstop-sim --features oracle --test oracle -- --nocapture --exact every_cell_agrees_with_ns2

papers: ## compute the papers' models and experiments whose code has changed, and write pages and figures to docs/papers (all of them: 40 CPU minutes); ARGS="000.fig12" runs one experiment; VERIFY=5% simulates this share of the stored results again and compares
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop papers run --store $(TARGET)/papers.redb --pages docs/papers --numbers papers $(if $(VERIFY),--verify $(VERIFY)) $(ARGS)
	$(TARGET)/release/ripstop papers check --dir papers --pages docs/papers > /dev/null

plan-report: ## fit the schemes whose behaviour has changed (REFIT=1: all schemes, for example after a change of the closed forms, of the fit or of what the campaign measures) to simulations of one seed, and write the planner's errors on another seed to crates/model/data and docs/plan-report.md (all schemes: an hour on two idle cores)
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-cli
	rm -f $(TARGET)/plan-links.toml
	$(TARGET)/release/ripstop plan campaign --seed 1 --links 200 --plain-links 1000 --fitted-only $(if $(REFIT),,--outdated) --store $(TARGET)/plan.redb --data $(TARGET)/plan-links.toml
	if test -e $(TARGET)/plan-links.toml; then cargo run --release --locked -p ripstop-model --example fit-plan -- $(TARGET)/plan-links.toml crates/model/data/plan-weights.toml; fi
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop plan campaign --seed 10 --links 200 --from crates/model/data/plan-report.toml --store $(TARGET)/plan.redb --page docs/plan-report.md --errors crates/model/data/plan-errors.toml --data crates/model/data/plan-report.toml > /dev/null
	UPDATE_SNAPSHOTS=1 cargo test --locked -p ripstop-lab --lib behaviour

deny: ## check the dependency tree for advisories, licences, duplicate crates and crates from unknown sources (the first call builds cargo-deny)
	@tools/need.sh cargo cc
	@test -x $(TARGET)/tools/bin/cargo-deny || cargo install --locked --version $(CARGO_DENY) --root $(TARGET)/tools cargo-deny
	$(TARGET)/tools/bin/cargo-deny --locked check
	$(TARGET)/tools/bin/cargo-deny --locked --manifest-path bench/Cargo.toml check

bench: ## time kernels and coders (criterion), compare them with other crates (needs Rust 1.95) and with reference speeds (ripstop speed), compare the simulator's speed with ns-2's, measure the time of a datagram of each type as a multiple of a probe's, and measure the CPU time of the daemon and the memory of 1000 peers (10 minutes); OLD=FILE also measures another build of the program
	@tools/need.sh cargo cc ip
	cargo bench --locked --manifest-path bench/Cargo.toml --no-run
	cargo bench --locked --manifest-path bench/Cargo.toml --bench kernels
	cargo run --release --locked -p ripstop-proto --example packet-costs
	cargo bench --locked --manifest-path bench/Cargo.toml --bench coders
	cargo run --release --locked --manifest-path bench/Cargo.toml --bin block-codes
	cargo run --release --locked --manifest-path bench/Cargo.toml --bin lt-speed
	cargo build --release --locked -p ripstop-cli
	$(TARGET)/release/ripstop speed
	cargo run --release --locked -p ripstop-sim --example speed
	cargo run --release --locked -p ripstop-net --example cpu -- $(TARGET)/release/ripstop $(OLD)
	cargo test --release --locked -p ripstop-proto --test many_peers -- --nocapture

sensitivity: ## run the groups of cells with each constant of the rate controller at half and at double its value, and write docs/contributors/sensitivity.md (1 to 1.5 hours); ONLY="cut quiet" adds these constants to the figures of the last call
	@tools/need.sh cargo cc
	cargo build --release --locked -p ripstop-sim --example sensitivity
	test -n "$(ONLY)" || rm -f $(TARGET)/sensitivity.tsv
	$(TARGET)/release/examples/sensitivity measure $(TARGET)/sensitivity.tsv $(ONLY)
	$(TARGET)/release/examples/sensitivity page $(TARGET)/sensitivity.tsv > docs/contributors/sensitivity.md

do-no-harm: ## compare the tunnel with plain CUBIC and BBR on 60 links where plain TCP works well, one line for each link (4 minutes)
	@tools/need.sh cargo cc
	cargo run --release --locked -p ripstop-sim --example do-no-harm

soak: ## run random hostile sessions in virtual time, for 10 000 seeds one of the tunnel and one of TCP/LT (about 40 minutes on 2 cores); RUNS=100 FIRST=7 runs 100 seeds, from seed 7 on; KIND=lt or KIND=tunnel runs one kind
	@tools/need.sh cargo cc
	cargo run --release --locked -p ripstop-sim --example soak -- $(or $(RUNS),10000) $(or $(FIRST),0) $(KIND)

soak-wire: ## run two daemons on a hostile link in real time for TIME seconds (default 120), with kills, moves, MTU changes and losses, and check each byte; SEED=7 draws other mishaps
	@tools/need.sh cargo cc ip
	cargo build --release --locked -p ripstop-cli
	cargo run --release --locked -p ripstop-net --example soak-wire -- $(TARGET)/release/ripstop --time $(or $(TIME),120) --seed $(or $(SEED),1)

fuzz: ## run each fuzz target for TIME seconds (default 60); needs a nightly toolchain; TARGETS="tunnel" runs one target
	@tools/need.sh cargo cc
	@command -v cargo-fuzz > /dev/null || test -x $(TARGET)/tools/bin/cargo-fuzz || cargo install --locked --version $(CARGO_FUZZ) --root $(TARGET)/tools cargo-fuzz
	@for target in $(or $(TARGETS),body feedback inner handshake decoder tunnel endpoint); do \
		mkdir -p $(TARGET)/fuzz/$$target fuzz/corpus/$$target && \
		(cd fuzz && PATH="$(TARGET)/tools/bin:$$PATH" CARGO_TARGET_DIR=$(TARGET)/fuzz-build cargo +nightly fuzz run --fuzz-dir . $$target $(TARGET)/fuzz/$$target corpus/$$target -- \
			-max_total_time=$(or $(TIME),60) -max_len=2048) || exit 1; \
	done

flags: ## write docs/flags.md from the definitions of the program's flags
	@tools/need.sh cargo cc
	UPDATE_FLAGS=1 cargo test --locked -p ripstop-cli --bin ripstop flag_reference

fmt: ## format the code
	@tools/need.sh cargo
	cargo fmt --all
	cargo fmt --manifest-path bench/Cargo.toml

clean: ## remove the directory with everything that was built
	rm -rf "$(TARGET)"
