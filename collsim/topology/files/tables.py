"""The catalogue as Markdown: every machine, every link with its figures and source. `docs/machines.md` holds it; a test
compares."""

from __future__ import annotations

from ..cables import NICS
from ..fabrics import FABRICS
from ..machines import machines
from ..network import Cable


def machine_tables() -> str:
    """Tables of machines, of the links in them, of network cards, and of fabrics."""
    plans = machines()
    links: dict[Cable, list[str]] = {}
    for name, plan in plans.items():
        for cable in dict.fromkeys(cable for *_, cable in plan.joints):
            links.setdefault(cable, []).append(name)
    rows = [
        [
            f"`{n}`",
            p.about,
            f"{len(p.ranks)}",
            f"{len(p.of_kind('nic'))} × {p.nic}" if p.of_kind("nic") else "",
            p.source,
        ]
        for n, p in plans.items()
    ]
    cables = [
        [*_figures(c), ", ".join(names), c.source]
        for c, names in sorted(links.items(), key=lambda item: (item[0].kind, item[0].label))
    ]
    cards = [
        [f"`{nic.name}`", *_figures(nic.cable), "yes" if nic.rdma else "no", nic.cable.source] for nic in NICS.values()
    ]
    fabrics = [[f"`{name}`", about] for name, about in FABRICS.items()]
    figures = ["link", "nominal GB/s", "effective GB/s", "alpha µs"]
    return "\n\n".join(
        (
            "### Machines\n\n" + _table(["name", "what", "ranks", "cards", "source of the wiring"], rows),
            "### Links, per direction\n\n" + _table([*figures, "in", "source of the figures"], cables),
            "### Network cards, per direction\n\n" + _table(["name", *figures, "RDMA", "source of the figures"], cards),
            "### Fabrics\n\n" + _table(["name", "what"], fabrics),
        )
    )


def _figures(cable: Cable) -> list[str]:
    rates = (f"{rate / 1e9:g}" if rate else "" for rate in (cable.nominal, cable.effective))
    return [cable.label, *rates, f"{cable.alpha * 1e6:g}"]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
