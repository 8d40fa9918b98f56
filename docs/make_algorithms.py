"""Write docs/algorithms.md from the registry: `python docs/make_algorithms.py`. A test checks that it is current."""

from pathlib import Path

import collsim as cs

PAGE = Path(__file__).with_name("algorithms.md")
INTRODUCTION = """\
# Algorithms

Made from the registry by `make docs`; the tests check that it is current, that every schedule does what its
collective promises for 1 to 33 ranks, and that steps, bytes and formula are what the schedule really costs.

n ranks; S bytes of the operation (nccl-tests' size); α seconds per message, β seconds per byte through one port in
one direction, γ seconds per byte reduced; c chunks. Formulas hold for one full-duplex port per rank (`switch`) unless
another network is named; ≤ marks a bound that many chunks come near. **Sent** is what the busiest endpoint sends, in
buffers of S, counted in the schedule for n = 8, or for the nearest n that an algorithm takes (then it is said); where
that is a parameter server or a switch, the busiest rank follows. In the diagrams a row is an endpoint and a column a
step: `+2←3` adds chunk 2 from rank 3, `=2←3` copies it, `2→6` reads slot 2 and writes slot 6.
"""


def taken(entry: cs.Algorithm, n: int) -> int:
    """The nearest number of ranks that an algorithm takes, from n on."""
    return next(k for k in range(n, 8 * n) if entry.ranks is None or entry.ranks(k) is None)


def said(n: int, usual: int) -> str:
    """A remark where a figure is not for the usual number of ranks."""
    return "" if n == usual else f" (n = {n})"


def sent(entry: cs.Algorithm, n: int) -> str:
    """Buffers sent by the busiest endpoint, and by the busiest rank where that is another one."""
    s = entry(n)
    t = s.transfers[s.transfers["src"] != s.transfers["dst"]]
    busy = [sum(t["src"] == e) / s.chunks for e in range(s.endpoints)]
    text = f"{max(busy):.4g}"
    return text if max(busy) == max(busy[:n]) else f"{text}; a rank {max(busy[:n]):.4g}"


def row(entry: cs.Algorithm) -> str:
    """One line of a collective's table."""
    network = "" if entry.network == "switch" else f" (on a {entry.network})"
    n = taken(entry, 8)
    cells = [
        f"[`{entry.name}`](#{entry.name})",
        f"{entry(n).steps}{said(n, 8)}",
        sent(entry, n),
        entry.formula + network,
        entry.when[0],
    ]
    return "| " + " | ".join(cells) + " |"


def section(entry: cs.Algorithm) -> str:
    """What one algorithm does, when to use it, its options, its source and its picture for n = 4."""
    options = ", ".join(f"`{o.name}={o.default!r}`" for o in entry.options.values()) or "none"
    lines = [
        f"### {entry.name}",
        entry.doc,
        f"- In a step: {entry.says[0]} {entry.says[1]}",
        f"- Best when: {entry.when[0]} {entry.when[1]}",
        f"- Options: {options}",
        f"- Source: {entry.source}",
    ]
    return "\n".join([lines[0], "", lines[1], "", *lines[2:], "", "```text", str(entry(taken(entry, 4))), "```", ""])


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for name in cs.collectives():
        entries = list(cs.algorithms(name).values())
        if entries:
            head = ["| algorithm | steps, n = 8 | sent, n = 8 | cost | best when |", "| --- | --- | --- | --- | --- |"]
            parts.append("\n".join([f"## {name}", "", *head, *map(row, entries), ""]))
            parts += map(section, entries)
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
