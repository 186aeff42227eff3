#!/usr/bin/env python3
"""Compares the simulator with ns-2 on settings that are drawn at random and go beyond the recorded tables.

    tools/ns2/beside.py target/release/ripstop --seed 1 --settings 50

Needs only `ns` (Debian's package ns2) and Python 3. Each setting runs 20 times on both simulators. The two means agree
if they differ by at most 5 %, or by at most twice h, whichever is larger. h is the root of the sum of the squares of
the half-widths of both 95 % confidence intervals. `make oracle` uses the same rule. The exit status is 1 if the two
means of any setting do not agree.
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
# Number of runs of each setting on each simulator.
RUNS = 20
# Student's t for a 95 % interval and RUNS - 1 = 19 degrees of freedom.
T = 2.093
# Simulated seconds of a run. The throughput of `fec` is measured from FEC_CUT_S on.
TANDEM_S, FEC_S, FEC_CUT_S = 500, 600, 100


def tandem(draw):
    """Draws a setting of TCP over a chain of lossy links.

    Returns the ns-2 script and its options, the arguments of ripstop, the key that ns-2 prints and its unit, and the
    key of ripstop's result.
    """
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
    # In ns-2, a queue with the limit L holds L - 1 packets.
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
    """Draws a setting of TCP over one link with a block code. Returns the same values as `tandem`."""
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
    """Runs ns-2. Returns the mean over the runs, and half the width of the mean's 95 % confidence interval."""
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
    flags.add_argument("program", help="path of the program, for example target/release/ripstop")
    flags.add_argument("--seed", type=int, default=1, help="seed of the random draw of the settings")
    flags.add_argument("--settings", type=int, default=50, help="number of settings to draw and compare")
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
