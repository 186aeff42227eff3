"""Writes the test vectors lt.csv.

This script implements the neighbours of LT encoding symbols, as the documentation of crates/codes/src/lt/mod.rs defines
them, independently of the Rust code.
"""

from decimal import Decimal, getcontext

getcontext().prec = 60
MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
LARGEST_BLOCK = [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64]
DEGREES = [
    {1: 4, 2: 13, 3: 20, 4: 17, 5: 9, 6: 1},
    {1: 2, 2: 6, 3: 14, 4: 19, 5: 16, 6: 7},
    {1: 1, 2: 3, 3: 9, 4: 17, 5: 19, 6: 12, 7: 3},
    {2: 2, 3: 6, 4: 13, 5: 20, 6: 18, 7: 5},
    {2: 1, 3: 3, 4: 10, 5: 20, 6: 22, 7: 8},
    {3: 1, 4: 5, 5: 15, 6: 27, 7: 16},
    {4: 2, 5: 9, 6: 26, 7: 27},
    {5: 4, 6: 20, 7: 40},
    {6: 9, 7: 55},
    {7: 41, 8: 23},
    {5: 9, 6: 29, 7: 2, 11: 24},
    {4: 3, 5: 15, 6: 2, 7: 12, 10: 16, 11: 16},
    {6: 24, 7: 20, 9: 1, 12: 3, 13: 16},
]

# Where the repairs of the systematic code start, for each number of source symbols.
REPAIRS = [
    0, 0, 56, 240, 68, 201, 164, 130, 217, 42, 145, 38, 66, 132, 129, 192,
    146, 81, 12, 59, 12, 78, 77, 108, 105, 253, 195, 29, 103, 189, 238, 168,
    103, 23, 32, 71, 183, 22, 17, 235, 78, 91, 91, 221, 198, 87, 204, 203,
    202, 193, 236, 90, 115, 197, 98, 90, 237, 228, 207, 253, 252, 171, 82, 115,
    115,
]


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def draw(seed, i):
    word = mix((mix((seed + 1) * STEP & MASK) + i // 2 * STEP) & MASK)
    return int.from_bytes(word.to_bytes(8, "little")[i % 2 * 4 :][:4], "little")


def below(seed, i, n):
    return draw(seed, i) * n // 2**32


def soliton_weights(k, c, delta):
    ripple = c * (k / delta).ln() * Decimal(k).sqrt()
    spike = min(k, max(1, int(k / ripple + Decimal(".5")))) if ripple else k
    weights = {d: 1 / Decimal(d * (d - 1)) if d > 1 else 1 / Decimal(k) for d in range(1, k + 1)}
    for d in weights:
        if d < spike:
            weights[d] += ripple / (d * k)
        if d == spike and ripple:
            weights[d] += max(Decimal(0), ripple * (ripple / delta).ln() / k)
    return weights


def degree(code, k, seed):
    if code == "systematic":
        return max(1, k // 2 + below(seed, 0, 2))
    if code == "optimised":
        weights = DEGREES[sum(k > most for most in LARGEST_BLOCK)]
        limit = below(seed, 0, 64)
    else:
        weights = soliton_weights(k, *map(Decimal, code.split()[1:]))
        total = sum(weights.values())
        weights = {d: weight / total * 2**32 for d, weight in weights.items()}
        limit = draw(seed, 0)
    reached = 0
    for d, weight in weights.items():
        reached += weight
        if int(reached) > limit:
            return d
    return k


def neighbours(code, k, seed):
    if code == "systematic" and seed <= k:
        return {seed} if seed < k else set(range(k))
    if code == "systematic":
        seed += REPAIRS[k]
    if code == "optimised" and k < 8:
        mask = 1 + below(seed, 0, 2**k - 1)
        return {i for i in range(k) if mask >> i & 1}
    d = degree(code, k, seed)
    chosen = set()
    for i in range(1, d + 1):
        j = k - d + i - 1
        t = below(seed, i, j + 1)
        chosen.add(j if t in chosen else t)
    return chosen


codes = ["optimised", "systematic", "soliton .1 .5", "soliton .1 .05", "soliton .02 .9", "soliton 3 1"]
sizes = [1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 48, 56, 63, 64]
seeds = [0, 1, 2, 16, 17, 64, 65, 100, 255, 256, 65535, 65536, 2**31, 2**32 - 1]

with open("lt.csv", "w") as out:
    out.write("# The source symbols that an LT encoding symbol combines: bit i of the mask is source symbol i. They are part of the wire format and never change.\n")
    out.write("code,k,seed,neighbours\n")
    for code, k, seed in [(code, k, seed) for code in codes for k in sizes for seed in seeds]:
        mask = sum(1 << i for i in neighbours(code, k, seed))
        out.write(f"{code},{k},{seed},{mask:x}\n")
