"""Write the tables of docs/machines.md and docs/machines.zh.md from the catalogue: every machine, every link with its
figures and source. `make docs`; a test checks that they are current."""

from pathlib import Path

from collsim.errors import Sentence
from collsim.topology.cables import load_nics
from collsim.topology.fabrics import FABRICS
from collsim.topology.machine_builder import Machine
from collsim.topology.machines import machines
from collsim.topology.network import Cable

#: A page for each language.
PAGES = {
    language: Path(__file__).with_name(name) for language, name in (("en", "machines.md"), ("zh", "machines.zh.md"))
}
MARK = "<!-- catalogue -->\n"
#: Title and heads of each table, in English and Chinese.
_MACHINES = (
    ("Machines", "name", "what", "ranks", "cards", "source of the wiring"),
    ("机器", "名称", "是什么", "rank 数", "网卡", "布线的出处"),
)
_FIGURES = (
    ("link", "nominal GB/s", "effective GB/s", "alpha µs"),
    ("链路", "标称 GB/s", "有效 GB/s", "α（延迟）µs"),
)
_LINKS = (
    ("Links, per direction", *_FIGURES[0], "in", "source of the figures"),
    ("链路，单向", *_FIGURES[1], "所在机器", "数字的出处"),
)
_CARDS = (
    ("Network cards, per direction", "name", *_FIGURES[0], "RDMA", "source of the figures"),
    ("网卡，单向", "名称", *_FIGURES[1], "RDMA", "数字的出处"),
)
_FABRICS = (("Fabrics", "name", "what"), ("网络结构", "名称", "是什么"))
_NO_YES = (("no", "yes"), ("否", "是"))


def build_machine_tables(language: str = "en") -> str:
    """Tables of machines, of the links in them, of network cards, and of fabrics. Sources of figures stand as they are
    written, in English.

    Args:
        language: `en` or `zh`.

    Returns:
        Markdown.
    """
    chinese = language == "zh"
    cards = [
        [f"`{n.name}`", *_list_figures(n.cable), _NO_YES[chinese][n.rdma], n.cable.source] for n in load_nics().values()
    ]
    fabrics = [[f"`{name}`", Sentence(about).text(language)] for name, about in FABRICS.items()]
    return "\n\n".join(
        (
            _format_table(
                _MACHINES[chinese], [_describe_machine(machine, language) for machine in machines().values()]
            ),
            _format_table(_LINKS[chinese], _list_links()),
            _format_table(_CARDS[chinese], cards),
            _format_table(_FABRICS[chinese], fabrics),
        )
    )


def _describe_machine(machine: Machine, language: str) -> list[str]:
    """A row of the first table; what a machine says of itself is English where it has no Chinese."""
    cards = len(machine.of_kind("nic"))
    return [
        f"`{machine.name}`",
        machine.describe(language),
        f"{len(machine.ranks)}",
        f"{cards} × {machine.nic}" if cards else "",
        machine.describe_source(language),
    ]


def _list_links() -> list[list[str]]:
    """A row for each cable of the catalogue, by kind and label, with the machines that have it."""
    cables_of: dict[Cable, list[str]] = {}
    for name, machine in machines().items():
        for cable in dict.fromkeys(cable for *_, cable in machine.connections):
            cables_of.setdefault(cable, []).append(name)
    ordered = sorted(cables_of.items(), key=lambda item: (item[0].kind, item[0].label))
    return [[*_list_figures(cable), ", ".join(names), cable.source] for cable, names in ordered]


def _list_figures(cable: Cable) -> list[str]:
    rates = (f"{rate / 1e9:g}" if rate else "" for rate in (cable.nominal, cable.effective))
    return [cable.label, *rates, f"{cable.alpha * 1e6:g}"]


def _format_table(words: tuple[str, ...], rows: list[list[str]]) -> str:
    title, *head = words
    lines = [head, ["---"] * len(head), *rows]
    cells = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return f"### {title}\n\n" + "\n".join(cells)


def page(language: str = "en") -> str:
    """The page, in English (`en`) or Chinese (`zh`), with the tables made anew."""
    before = PAGES[language].read_text(encoding="utf-8").split(MARK)[0]
    return f"{before}{MARK}{build_machine_tables(language).strip()}\n"


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
