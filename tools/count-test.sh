#!/bin/sh
# Tests count.awk on the output of a test run.
set -u
cd "$(dirname "$0")" || exit 1
got=$(awk -f count.awk <<'LINES'
running 3 tests
test a ... ok
SKIPPED b: no namespaces here
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s
running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 6 filtered out; finished in 0.50s
test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s
LINES
)
[ "$got" = "12 2 2" ] && exit 0
echo "error: count.awk prints \"$got\"; the right counts are \"12 2 2\"" >&2
exit 1
