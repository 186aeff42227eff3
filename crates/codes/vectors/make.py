"""Writes the test vectors coefficients.csv.

This script implements the coefficient generator of docs/contributors/wire-format.md independently of the Rust code.
"""

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def coefficient(seed, identifier):
    key = mix((seed + 1) * STEP & MASK)
    word = mix((key + (identifier >> 3) * STEP) & MASK)
    return word.to_bytes(8, "little")[identifier & 7] or 1


seeds = [0, 1, 2, 255, 256, 4660, 65534, 65535]
identifiers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 255, 256, 1 << 20, (1 << 32) - 1, 1 << 32, (1 << 63) + 5, MASK]
# Identifiers at which the hash has a zero byte. The coefficient there is 1 instead of 0.
zeros = [(s, i) for s in seeds[:4] for i in range(4000) if (mix((mix((s + 1) * STEP & MASK) + (i >> 3) * STEP) & MASK) >> 8 * (i & 7)) & 255 == 0]

with open("coefficients.csv", "w") as out:
    out.write("# The coefficient that a source symbol has in a repair with this seed. It is part of the wire format and never changes.\n")
    out.write("seed,id,coefficient\n")
    for seed, identifier in [(s, i) for s in seeds for i in identifiers] + zeros[:8]:
        out.write(f"{seed},{identifier},{coefficient(seed, identifier)}\n")
