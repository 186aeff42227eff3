# Sums the totals that the test harness prints. Output: "passed failed skipped".
#
# Some tests run their own test program again in a network namespace. This inner run prints a line
# of totals too, in which all other tests are "filtered out". This script ignores such a line,
# because the outer run counts the test. A test that cannot run prints "SKIPPED name: reason". The
# harness counts such a test as passed. This script moves the test from passed to skipped.

/^test result: / && / 0 filtered out/ {
    for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed;?$/) passed += $(i - 1)
        if ($i ~ /^failed;?$/) failed += $(i - 1)
        if ($i ~ /^ignored;?$/) skipped += $(i - 1)
    }
}
/^SKIPPED / { passed--; skipped++ }
END { print passed + 0, failed + 0, skipped + 0 }
