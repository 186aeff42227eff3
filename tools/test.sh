#!/bin/sh
# Runs every check. The last line says how many checks and tests passed, failed and were skipped. The exit status is 0
# if no check and no test failed.
set -u
cd "$(dirname "$0")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}
if [ -d "$target/debug" ]; then cache=warm; else cache=cold; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
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
check lints cargo clippy --workspace --all-targets --features ripstop-cli/accept --locked -- -D warnings
built=$((built + took))
RUSTDOCFLAGS="-D warnings" check documentation cargo doc --workspace --no-deps --locked
built=$((built + took))
# The lints have checked the examples. To link each of them takes minutes and tests nothing.
what="--lib --bins --tests"
# shellcheck disable=SC2086
if check build cargo test --workspace $what --no-run --locked; then
    built=$((built + took))
    echo "== tests"
    {
        # shellcheck disable=SC2086
        cargo test --workspace $what --no-fail-fast --locked 2>&1
        main=$?
        cargo test --workspace --doc --no-fail-fast --locked 2>&1
        doc=$?
        echo "cargo's exit status: $((main + doc))"
    } | tee "$log"
    # shellcheck disable=SC2046
    set -- $(awk -f tools/count.awk "$log")
    # A test program that dies prints no totals. If cargo failed and no failure was counted, count one failure.
    if [ "$2" = 0 ] && ! grep -q "^cargo's exit status: 0$" "$log"; then set -- "$1" 1 "$3"; fi
    grep -E '^(SKIPPED |test .* FAILED$)' "$log"
else
    set -- 0 0 0
fi

echo "the build took $built s (lints, documentation and tests; $cache cache)"
passed=$((passed + $1)) failed=$((failed + $2))
echo "$passed passed, $failed failed, $3 skipped"
[ "$failed" = 0 ]
