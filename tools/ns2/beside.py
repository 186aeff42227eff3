#!/usr/bin/env python3
"""Compares the simulator with ns-2 on settings drawn at random, beyond those of the recorded tables.

    tools/ns2/beside.py target/release/ripstop --seed 1 --settings 50

Needs `ns` (Debian's package ns2) and Python 3, nothing else. Settings agree when the means differ by no more than 5 % or two
half-widths (the root of the sum of the squares of both), whichever is larger, as in `make oracle`. Exit status 1 if one does not.
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
VARIANTS = {"Tahoe": "tahoe", "Reno": "reno", "Newreno": "newreno", "Sack1": "sack", "Vegas": "vegas"}
RUNS = 20
# Student's t of 19 degrees of freedom, for 95 %.
T = 2.093
TANDEM_S, FEC_S, FEC_CUT_S = 500, 600, 100


def tandem(draw):
    """A chain of lossy links: options for ns-2, arguments for ripstop, the key that ns-2 prints, its unit, and our key."""
    variant = draw.choice(list(VARIANTS))
    s = {
        "q": draw.choice([0, 0.002, 0.008, 0.01, 0.02, 0.03, 0.04, 0.08]),
        "errack": draw.choice([0, 1]),
        "hops": draw.choice([1, 2, 3, 6]),
        "rate": draw.choice([0.5e6, 1e6, 2e6, 5e6]),
        "delay": draw.choice([0.01, 0.03, 0.1, 0.2]),
        "queue": draw.choice([10, 20, 50, 200]),
        "flows": draw.choice([1, 2, 5]),
        "window": draw.choice([20, 50, 100]),
        "ackevery": draw.choice([1, 2]),
    }
    # ns-2's limit of L holds L - 1 packets.
    theirs = {"variant": variant, "duration": TANDEM_S, **s, "queue": s["queue"] + 1}
    ours = [
        "sim", "tandem", "--tcp", VARIANTS[variant], "--loss", s["q"], "--ack-loss", ["off", "on"][s["errack"]],
        "--hops", s["hops"], "--rate", s["rate"], "--delay", s["delay"], "--queue", s["queue"], "--flows", s["flows"],
        "--wmax", s["window"], "--ack-every", s["ackevery"], "--duration", TANDEM_S, "--warmup", 0,
    ]
    if variant == "Vegas":
        ours += ["--vegas", "1,3,1"]
    return "tandem.tcl", theirs, ours, "goodput", 1e6, "goodput_bps"


def fec(draw):
    """One link with a block code; returns the same as `tandem`."""
    variant = draw.choice(["Tahoe", "Reno", "Newreno", "Sack1"])
    k = draw.choice([5, 10, 20, 40])
    s = {
        "k": k,
        "n": k + draw.choice([0, 1, 2, 4]),
        "p": draw.choice([0.001, 0.005, 0.01, 0.02, 0.04]),
        "flows": draw.choice([1, 3, 10]),
        "mu": draw.choice([1500, 3000, 10000]),
        "delay": draw.choice([0.05, 0.15, 0.28]),
        "queue": draw.choice([20, 50, 100]),
    }
    theirs = {"variant": variant, "duration": FEC_S, "cut": FEC_CUT_S, **s, "queue": s["queue"] + 1}
    ours = [
        "sim", "fec", "--tcp", VARIANTS[variant], "--k", s["k"], "--n", s["n"], "--unit-loss", s["p"], "--flows", s["flows"],
        "--mu", s["mu"], "--rtt", 2 * s["delay"], "--queue", s["queue"], "--duration", FEC_S, "--warmup", FEC_CUT_S,
    ]
    return "fec.tcl", theirs, ours, "throughput", 1.0, "throughput_units_per_s"


def on_ns2(script, options, key, unit):
    """The mean over the runs, and half the width of its 95 % confidence interval."""
    results = []
    for seed in range(1, RUNS + 1):
        flags = [text for name, value in {**options, "seed": seed}.items() for text in (f"-{name}", str(value))]
        printed = subprocess.run(["ns", str(HERE / script), *flags], capture_output=True, text=True, check=True).stdout.split()
        results.append(unit * float(printed[printed.index(key) + 1]))
    mean = sum(results) / RUNS
    deviation = math.sqrt(sum((result - mean) ** 2 for result in results) / (RUNS - 1))
    return mean, T * deviation / math.sqrt(RUNS)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("program", help="target/release/ripstop")
    flags.add_argument("--seed", type=int, default=1, help="where the settings come from")
    flags.add_argument("--settings", type=int, default=50, help="how many")
    given = flags.parse_args()
    draw = random.Random(given.seed)
    differ = 0
    for number in range(given.settings):
        script, theirs, ours, key, unit, figure = draw.choice([tandem, tandem, fec])(draw)
        mean, half = on_ns2(script, theirs, key, unit)
        command = [given.program, *map(str, ours), "--runs", str(RUNS), "--seed", str(number + 1), "--json"]
        got = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[figure]
        agrees = abs(got["mean"] - mean) <= max(0.05 * mean, 2 * math.hypot(half, got["ci95"] or 0.0))
        differ += not agrees
        print(
            f"{script} {' '.join(f'-{name} {value}' for name, value in theirs.items())}: ns-2 {mean:.6g} +- {half:.2g}, "
            f"ripstop {got['mean']:.6g} +- {got['ci95'] or 0.0:.2g}, {100 * (got['mean'] / mean - 1):+.1f} %"
            f"{'' if agrees else '  DIFFERS'}",
            flush=True,
        )
    print(f"{given.settings - differ} of {given.settings} settings agree, seed {given.seed}")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
