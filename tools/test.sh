#!/bin/sh
# Runs every check. The last line says how many checks and tests passed, failed and were skipped. The exit status is 0
# if no check and no test failed.
#
# Tests in real time (the programs `realtime`) wait most of the time. They run in the background, while the other tests
# compute. Their output appears in one piece at the end.
set -u
cd "$(dirname "$0")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}
if [ -d "$target/debug" ]; then cache=warm; else cache=cold; fi

log=$(mktemp -d)
background=
clean_up() {
    [ -z "$background" ] || kill -- "-$background" 2>/dev/null
    rm -rf "$log"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 built=0

check() { # arguments: name, command... Runs one check.
    name=$1
    shift
    echo "== $name"
    began=$(date +%s)
    if "$@"; then
        passed=$((passed + 1))
        outcome=0
    else
        failed=$((failed + 1))
        outcome=1
        echo "FAILED $name"
    fi
    took=$(($(date +%s) - began))
    return $outcome
}

check counting tools/count-test.sh
check set-up tools/need-test.sh
check format cargo fmt --all --check
check "format of bench/" cargo fmt --manifest-path bench/Cargo.toml --check
# A new dependency of a crate is also in the lock file of bench/, which nothing else here reads.
check "lock file of bench/" cargo update --quiet --workspace --locked --manifest-path bench/Cargo.toml
check lints cargo clippy --workspace --all-targets --features ripstop-cli/accept --locked -- -D warnings
built=$((built + took))
RUSTDOCFLAGS="-D warnings" check documentation cargo doc --workspace --no-deps --locked
built=$((built + took))
# All test programs but `realtime`.
computing="--lib --bins --example fit-plan --test it --test allocations --test many_peers --test memory --test oracle"
# The lints have checked the examples. To link each of them takes minutes and tests nothing.
if check build cargo test --workspace --tests --no-run --locked; then
    built=$((built + took))
    echo "== tests"
    began=$(date +%s)
    # All calls name the whole workspace: another choice of packages has other features, and would build crates again. The
    # session of its own lets an interrupt end all processes of the background.
    setsid cargo test --workspace --test realtime --no-fail-fast --locked >"$log/realtime" 2>&1 </dev/null &
    background=$!
    {
        # Tests in real time come first when a processor is free.
        # shellcheck disable=SC2086
        nice cargo test --workspace $computing --no-fail-fast --locked 2>&1
        echo "cargo's exit status: $?"
        nice cargo test --workspace --doc --no-fail-fast --locked 2>&1
        echo "cargo's exit status: $?"
    } | tee "$log/computed"
    wait "$background"
    echo "cargo's exit status: $?" >>"$log/realtime"
    background=
    cat "$log/realtime"
    # shellcheck disable=SC2046
    set -- $(awk -f tools/count.awk "$log/computed" "$log/realtime")
    # A test program that dies prints no totals. If cargo failed and no failure was counted, count one failure.
    if [ "$2" = 0 ] && grep -q "^cargo's exit status: [^0]" "$log"/*; then set -- "$1" 1 "$3"; fi
    # No program is missing in both groups.
    programs=$(cargo test --workspace --tests --no-run --locked 2>&1 | grep -c '^ *Executable ')
    ran=$(cat "$log"/* | grep -c '^ *Running ')
    if [ "$programs" != "$ran" ]; then
        echo "FAILED $programs test programs exist, and $ran ran: is one missing in tools/test.sh?"
        set -- "$1" $(($2 + 1)) "$3"
    fi
    grep -hE '^(SKIPPED |test .* FAILED$)' "$log"/*
    echo "the tests took $(($(date +%s) - began)) s"
else
    set -- 0 0 0
fi

echo "the build took $built s (lints, documentation and tests; $cache cache)"
passed=$((passed + $1)) failed=$((failed + $2))
echo "$passed passed, $failed failed, $3 skipped"
[ "$failed" = 0 ]
