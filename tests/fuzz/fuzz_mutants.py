"""Damaged and hostile files for every reader, drawn by seed: `python tests/fuzz/fuzz_mutants.py SECONDS [FIRST SEED]`.

Needs nothing beyond what the tests need; `fuzz_readers.py` is the one that is guided by coverage. A file is a good one
that was cut, had bits turned, tokens swapped for numbers, tags and letters that readers trip over, or was made deep,
long or large. What breaks a reader is kept in `broke/`, where `test_broke.py` reads it.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from functools import cache
from pathlib import Path

from fuzz_readers import BROKE, _keep, dump_of_a_hang, kinds, seeds
from fuzz_readers import attempt as read
from watch import main

MORE = ("progress", "store", "flight-recorder-pickle")
WORDS = [
    *("!!bool x", "!!int ''", "!!timestamp x", "!!float .", "!!binary '='", "!!set {a}", "!!python/name:os.system", "<<: {a: 1}"),
    *("&a [*a]", "? [1]", "1:59:59", "0x" + "9" * 400, "9" * 5000, "-1", "-13", "0", "1e400", "nan", ".inf", "true", "null", "~"),
    *("'2097152'", "2147483648", "-2147483649", "4294967296", "9223372036854775808", "1e-400", "0.1", "", " ", "\t", "\r", "\0"),
    *("💥", "\u202e", "é", "\ufeff", "\ud7ff", "𝟜", "²", "<", ">", "&amp;", "]]>", "<!--", "-->", "/*", "*/", "//", '"', "'", "\\", "#"),
    *("[", "]", "{", "}", "(", ")", ":", ",", ";", "|", "=", "->", "..", "../../etc/passwd", "%s", "{0}", "=1+1", "@x", "x" * 3000),
]  # fmt: skip
TOKEN = re.compile(r"[A-Za-z_][\w.-]*|-?\d[\w.+-]*|\s+|.", re.DOTALL)


@cache
def good(kind):
    """Files to begin with, as text."""
    if kind == "progress":
        return (
            '{"schema": "collsim.progress/1", "exercises": {"ring": {"passed": true, "tries": 3, "gap": 1.0, "code": "x"}}}',
        )
    if kind == "store":
        return ("store",)
    if kind == "flight-recorder-pickle":
        return ("pickle",)
    return tuple(seeds(kind))


@cache
def store_of_a_sweep():
    """The bytes of a sweep's store."""
    import collsim as cs

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "x.sqlite"
        cs.sweep(algorithm="allreduce_ring", topology="switch(4)", nbytes=[1024, 2048], out=place)
        return place.read_bytes()


def mutant(seed):
    """(kind, bytes) of one file."""
    rng = random.Random(seed)
    kind = rng.choice([*kinds(), *MORE])
    if kind == "store":
        return kind, _bits(rng, store_of_a_sweep())
    if kind == "flight-recorder-pickle":
        return kind, rng.choice([_bits, _cut, _wide])(rng, dump_of_a_hang())
    text = rng.choice(good(kind))
    for _ in range(rng.choice([1, 1, 2, 3])):
        text = rng.choice(TEXTUAL)(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        data = rng.choice([_bits, _cut, _wide])(rng, data)
    return kind, data[: 2**21]


def _swapped(rng, text):
    """A token becomes another word."""
    tokens = TOKEN.findall(text) or [""]
    for _ in range(rng.choice([1, 1, 2, 5])):
        tokens[rng.randrange(len(tokens))] = rng.choice([*WORDS, rng.choice(tokens)])
    return "".join(tokens)


def _numbers(rng, text):
    """A number becomes another number."""
    return re.sub(
        r"\d+",
        lambda m: rng.choice([m[0], m[0], rng.choice(WORDS), str(rng.randrange(10**9))]),
        text,
        count=rng.randrange(1, 9),
    )


def _lines(rng, text):
    """Lines are lost, doubled and moved."""
    lines = text.splitlines(keepends=True) or [""]
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    return "".join(
        rng.choice(
            [lines[:at] + lines[at + 1 :], lines[:at] + lines[at:other] * 2 + lines[other:], lines[at:] + lines[:at]]
        )
    )


def _deep(rng, text):
    """Something is nested a thousand times."""
    begin, end = rng.choice(["[]", "{}", "()", ("{a: ", "}"), ("- ", ""), ("<a>", "</a>"), ('{"a":', "}"), ("/*", "")])
    times, at = rng.choice([30, 70, 1_000, 100_000]), rng.randrange(len(text) + 1)
    return text[:at] + begin * times + rng.choice(["", "1"]) + end * rng.choice([0, times]) + text[at:]


def _long(rng, text):
    """A piece is repeated until the file is long."""
    at = rng.randrange(len(text) + 1)
    piece = text[at : at + rng.choice([1, 3, 20, 400])] or "x"
    return text[:at] + piece * rng.choice([2, 100, 20_000 // len(piece) + 1]) + text[at:]


def _inserted(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(WORDS) + text[at:]


def _cut(rng, data):
    return data[: rng.randrange(len(data) + 1)]


def _bits(rng, data):
    """A few bits turned."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 2, 8, 64]) if found else 0):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _wide(rng, data):
    """In another encoding, or zipped."""
    import gzip

    text = data.decode("utf-8", "replace")
    return rng.choice([lambda: text.encode("utf-16"), lambda: gzip.compress(data), lambda: gzip.compress(data)[:-9]])()


TEXTUAL = (_swapped, _swapped, _numbers, _numbers, _lines, _deep, _long, _inserted, lambda rng, text: _cut(rng, text))


def attempt(case):
    """Read it as what it says it is."""
    import collsim as cs
    from collsim.sweep.store import Store

    kind, data = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.sqlite" if kind == "store" else "x")
        path.write_bytes(data)
        if kind == "progress":
            cs.teach.progress(path)
        elif kind == "store":
            store = Store(path)
            try:
                store.rows(store.list_done())
            finally:
                store.close()
        else:
            read(kind, path)


def keep(seed, case, why):
    kind, data = case
    BROKE.mkdir(exist_ok=True)
    _keep(kind, data, re.sub(r"\d+", "", why)[:80])


def warm():
    """Every reader once, before memory is counted."""
    for kind in kinds():
        for text in good(kind):
            attempt((kind, text.encode()))
    attempt(("store", store_of_a_sweep()))


if __name__ == "__main__":
    main(__file__, mutant, attempt, keep, warm, sys.argv[1:])
