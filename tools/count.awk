# Sums what the test harness prints. A line of totals with tests filtered out is that of a test which
# ran itself again in a namespace of its own: the outer one counts it. A skip is printed as
# "SKIPPED name: reason" by a test that the harness then takes for passed.
#
# Output: "passed failed skipped".

/^test result: / && / 0 filtered out/ {
    for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed;?$/) passed += $(i - 1)
        if ($i ~ /^failed;?$/) failed += $(i - 1)
        if ($i ~ /^ignored;?$/) skipped += $(i - 1)
    }
}
/^SKIPPED / { passed--; skipped++ }
END { print passed + 0, failed + 0, skipped + 0 }
