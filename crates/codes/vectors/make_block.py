"""Writes the test vectors block.csv and block-symbols.csv of the block code.

This script implements the code of crates/codes/src/block independently of the Rust code: multiplication by schoolbook,
inverses by search.
"""


def multiply(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a & 0x100:
            a ^= 0x11D
        b >>= 1
    return product


INVERSE = {a: next(b for b in range(1, 256) if multiply(a, b) == 1) for a in range(1, 256)}


def coefficient(k, repair, source):
    return multiply(k ^ source, INVERSE[repair ^ source])


def edges(first, end):
    """The numbers first..end, or the outermost and some inner ones if there are many."""
    all_of_them = range(first, end)
    if len(all_of_them) <= 6:
        return list(all_of_them)
    return sorted({first, first + 1, first + len(all_of_them) // 3, first + len(all_of_them) // 2, end - 2, end - 1})


with open("block.csv", "w") as out:
    out.write("# The coefficient that a source symbol has in a repair of a block code with K source symbols. It never changes.\n")
    out.write("k,repair,source,coefficient\n")
    for k in [1, 2, 3, 4, 8, 16, 20, 32, 63, 64, 65, 100, 127, 128, 129, 200, 253, 254]:
        for repair in edges(k, 255):
            for source in edges(0, k):
                out.write(f"{k},{repair},{source},{coefficient(k, repair, source)}\n")

with open("block-symbols.csv", "w") as out:
    out.write("# All symbols of some blocks, in hexadecimal. Symbols 0..K are the source symbols; they differ in length.\n")
    out.write("n,k,symbol,bytes\n")
    for n, k in [(1, 1), (2, 1), (3, 2), (8, 5), (24, 20), (40, 32), (70, 65)]:
        sources = [bytes((j * j * 31 + i * 7 + n) & 255 for i in range(1 + (5 * j + k) % 12)) for j in range(k)]
        longest = max(len(source) for source in sources)
        repairs = []
        for repair in range(k, n):
            total = bytearray(longest)
            for j, source in enumerate(sources):
                for i, byte in enumerate(source):
                    total[i] ^= multiply(coefficient(k, repair, j), byte)
            repairs.append(bytes(total))
        for index, symbol in enumerate(sources + repairs):
            out.write(f"{n},{k},{index},{symbol.hex()}\n")
