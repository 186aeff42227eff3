"""Writes lt.json, the test vectors of TCP/LT's packets, from docs/contributors/wire-format.md alone."""

import json
from pathlib import Path


def varint(value):
    out = []
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + [value])


def low(value, count):
    return (value % (1 << (8 * count))).to_bytes(count, "big")


def symbol(p):
    head = bytes([0x41 if p["request"] else 0x40]) + low(p["session"], 4) + low(p["number"], 4) + low(p["block"], 3)
    fields = varint(p["block"] - p["oldest"]) + bytes([p["k"]]) + varint(p["symbol"]) + varint(p["index"])
    return head + fields + bytes.fromhex(p["payload"])


def ack(kind, session, rate, body):
    return bytes([kind | (0x10 if rate is not None else 0)]) + low(session, 4) + (low(rate, 6) if rate is not None else b"") + body


def block(p):
    body = low(p["block"], 3) + varint(p["heard"]) + varint(p["heard"] - p["received"])
    return ack(0x49 if p["is_decoded"] else 0x48, p["session"], p["rate"], body)


def everything(p):
    body = low(p["heard"], 4) + low(p["received"], 4) + low(p["decoded"], 3) + varint(len(p["blocks"]))
    for missing, known in p["blocks"]:
        body += bytes([missing])
        if missing not in (0, 255):
            bits = known.to_bytes(8, "big").lstrip(b"\0")
            body += bytes([len(bits)]) + bits
    return ack(0x4A, p["session"], p["rate"], body)


EVERYTHING = (1 << 64) - 1
SYMBOLS = [
    dict(name="first symbol", session=0x01020304, number=0, oldest=0, block=0, k=16, symbol=0, index=0, request=False, payload="c0ffee"),
    dict(name="request in a long session", session=0xFFFFFFFF, number=(5 << 32) + 7, oldest=(1 << 30) - 200, block=1 << 30, k=64, symbol=40503, index=130, request=True, payload=""),
]
BLOCKS = [
    dict(name="block not decoded", session=1, rate=None, block=3, received=12, heard=16, is_decoded=False),
    dict(name="block decoded, with a rate", session=1, rate=68264, block=(9 << 24) + 5, received=300, heard=400, is_decoded=True),
]
ALL = [
    dict(name="nothing yet", session=2, rate=None, heard=0, received=0, decoded=0, blocks=[]),
    dict(
        name="three blocks, with a rate",
        session=2,
        rate=(1 << 48) - 1,
        heard=(3 << 32) + 9,
        received=(3 << 32) - 20,
        decoded=70000,
        blocks=[[2, 0xFFFC], [0, EVERYTHING], [255, 0], [16, 0], [1, 0x7FFFFFFFFFFFFFFF]],
    ),
]
SIMPLE = [
    dict(name="open", kind="open", session=0xDEADBEEF, rate=None),
    dict(name="opened, with a rate", kind="opened", session=0xDEADBEEF, rate=273056),
    dict(name="unknown", kind="unknown", session=7, rate=None),
]

vectors = {
    "symbols": [dict(p, bytes=symbol(p).hex()) for p in SYMBOLS],
    "blocks": [dict(p, bytes=block(p).hex()) for p in BLOCKS],
    "all": [dict(p, bytes=everything(p).hex()) for p in ALL],
    "simple": [
        dict(p, bytes=(b"\x42" + low(p["session"], 4) if p["kind"] == "open" else ack({"opened": 0x4C, "unknown": 0x4B}[p["kind"]], p["session"], p["rate"], b"")).hex())
        for p in SIMPLE
    ],
}
Path(__file__).with_name("lt.json").write_text(json.dumps(vectors, indent=1) + "\n")
