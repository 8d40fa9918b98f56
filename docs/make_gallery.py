"""Write docs/gallery.md, docs/gallery.zh.md and the figures in docs/gallery: `python docs/make_gallery.py`.

Each figure has its lines of Python, and is written as SVG and PNG, light and dark, in English and in Chinese.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from collsim.viz.pictures.figure import darken

DOCS = Path(__file__).parent
FOLDER = DOCS / "gallery"
LANGUAGES = ("en", "zh")
PAGES = {"en": DOCS / "gallery.md", "zh": DOCS / "gallery.zh.md"}
#: What every figure begins with.
IMPORTS = """import collsim as cs
from collsim.viz import plots
from collsim.viz.pictures import machine_picture, nccl_plots, training_plots
"""
HEADS = {
    "en": f"""# Gallery

Figures for slides, papers and lecture notes. Each is an SVG and a PNG, light and dark, in English and Chinese, with
the lines of Python that made it. Change a size, a machine or an algorithm, and run the lines again. All of them begin
with:

```py
{IMPORTS}```

`figure.savefig("x.svg")` writes the light figure, `plots.darken(figure).savefig("x.svg")` the dark one. Bandwidths are
nominal ([machines](machines.md)). **Licence**: the figures on this page have the MIT licence of collsim, like the
lines. Use and change them anywhere; name collsim as the source. `docs/make_gallery.py` makes this page.
""",
    "zh": f"""# 图库

供幻灯片、论文和讲义使用的图。每张图都有 SVG 和 PNG、浅色和深色、英文和中文版本，并附上生成它的几行 Python。
换一个大小、机器或算法，再运行一次即可。所有代码都以这几行开头：

```py
{IMPORTS}```

`figure.savefig("x.svg")` 写出浅色图，`plots.darken(figure).savefig("x.svg")` 写出深色图。
带宽为标称值（[机器](machines.zh.md)）。
**许可证**：本页的图和代码一样，采用 collsim 的 MIT 许可证。可以在任何地方使用和修改；请注明来源 collsim。
本页由 `docs/make_gallery.py` 生成。
""",
}


@dataclass(frozen=True)
class Exhibit:
    """One figure.

    Attributes:
        name: of its files.
        titles: in English and Chinese.
        code: lines of Python that leave `figure`; `LANGUAGE` in them is the language.
    """

    name: str
    titles: tuple[str, str]
    code: str


_SWITCH = 'switch = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")\n'
_TWO = 'two = cs.machine("dgx-a100", nodes=2)\n'
_RING = 'trace = cs.simulate(cs.schedule("allreduce_ring", topology=two), two, "256MiB")\n'
_GANTT = "figure = plots.gantt(trace, language=LANGUAGE).figure"


def _simulate(algorithm: str) -> str:
    return f'{_SWITCH}trace = cs.simulate(cs.schedule("{algorithm}", ranks=8), switch, "64MiB")\n'


EXHIBITS = (
    Exhibit(
        "machine-dgx",
        ("Inside a DGX A100", "DGX A100 的内部"),
        'figure = cs.machine("dgx-a100").draw(language=LANGUAGE).figure',
    ),
    Exhibit(
        "machine-pcie",
        ("A server with eight PCIe GPUs", "八块 PCIe GPU 的服务器"),
        'figure = cs.machine("pcie-8gpu").draw(language=LANGUAGE).figure',
    ),
    Exhibit(
        "machine-cluster",
        ("Two DGX H100, four GPUs of each", "两台 DGX H100，各用四块 GPU"),
        'figure = cs.machine("dgx-h100", nodes=2, gpus=4).draw(language=LANGUAGE).figure',
    ),
    Exhibit(
        "ring",
        ("A ring over two nodes: use of every link", "跨两个节点的 ring：每条链路的利用率"),
        f"{_TWO}{_RING}figure = machine_picture.draw_machine_figure(trace, LANGUAGE)",
    ),
    Exhibit(
        "gantt-server",
        ("A parameter server: one cable carries everything", "参数服务器：所有数据走一条线缆"),
        _simulate("allreduce_parameter_server") + _GANTT,
    ),
    Exhibit(
        "gantt-ring",
        ("A ring: all cables are busy all the time", "ring：所有线缆一直忙碌"),
        _simulate("allreduce_ring") + _GANTT,
    ),
    Exhibit("gantt-tree", ("A double binary tree", "双二叉树"), _simulate("allreduce_double_binary_tree") + _GANTT),
    Exhibit(
        "links-server",
        ("Busy links of a parameter server", "参数服务器的繁忙链路"),
        _simulate("allreduce_parameter_server") + "figure = plots.link_utilisation(trace, language=LANGUAGE).figure",
    ),
    Exhibit(
        "links-ring",
        ("A ring over two nodes with one lost cable", "跨两个节点的 ring，少一条线缆"),
        'two = cs.machine("dgx-a100", nodes=2).without_link("node0/nic3", "fabric/switch0")\n'
        f"{_RING}figure = plots.link_utilisation(trace, language=LANGUAGE).figure",
    ),
    Exhibit(
        "volume",
        ("What each kind of cable carries over time", "各类线缆随时间的传输量"),
        f"{_TWO}{_RING}figure = plots.volume_over_time(trace, language=LANGUAGE).figure",
    ),
    Exhibit(
        "time-over-size",
        ("Ring, tree and parameter server over size", "ring、树和参数服务器随大小的时间"),
        'names = ["allreduce_ring", "allreduce_double_binary_tree", "allreduce_parameter_server"]\n'
        'frame = cs.sweep("allreduce", names, cs.machine("dgx-a100", nodes=2), cs.size_range("1KiB:1GiB:4"))\n'
        "figure = plots.time_over_size(frame, language=LANGUAGE).figure",
    ),
    Exhibit(
        "busbw-over-size",
        ("Bus bandwidth over size", "总线带宽随大小的变化"),
        'names = ["allreduce_ring", "allreduce_double_binary_tree", "allreduce_halving_doubling"]\n'
        'frame = cs.sweep("allreduce", names, cs.machine("dgx-a100", nodes=2), cs.size_range("1KiB:1GiB:4"))\n'
        "figure = plots.busbw_over_size(frame, language=LANGUAGE).figure",
    ),
    Exhibit(
        "winner-map",
        ("Which algorithm wins at which size, on which machine", "哪种算法在哪种大小、哪台机器上最快"),
        'machines = [cs.machine("dgx-a100", nodes=nodes) for nodes in (1, 2, 4)]\n'
        'names = ["allreduce_ring", "allreduce_double_binary_tree", "allreduce_halving_doubling"]\n'
        'frame = cs.sweep("allreduce", names, machines, cs.size_range("1KiB:1GiB:16"))\n'
        "figure = plots.winner_map(frame, language=LANGUAGE).figure",
    ),
    Exhibit(
        "tornado",
        ("What faster links would save", "更快的链路能省多少时间"),
        'two = cs.machine("rtx3090-4gpu", nodes=2)\n'
        f"{_RING}figure = plots.tornado(cs.analysis.sensitivity(trace), language=LANGUAGE).figure",
    ),
    Exhibit(
        "differences",
        ("Bytes of the same ring with and without that cable", "同一个 ring 有无该线缆时的字节数"),
        f'{_TWO}broken = two.without_link("node0/nic3", "fabric/switch0")\n'
        'schedule = cs.schedule("allreduce_ring", topology=two)\n'
        'runs = [cs.simulate(schedule, machine, "1GiB") for machine in (two, broken)]\n'
        "figure = plots.differences(cs.analysis.compare_runs(*runs), language=LANGUAGE).figure",
    ),
    Exhibit(
        "nccl-crossover",
        ("NCCL's ring and tree over size", "NCCL 的 ring 和树随大小的时间"),
        'result = cs.nccl.compare_ring_and_tree(cs.machine("dgx-a100", nodes=2))\n'
        "figure = nccl_plots.crossover(result, language=LANGUAGE).figure",
    ),
    Exhibit(
        "nccl-map",
        ("What NCCL runs over size and nodes", "NCCL 在各种大小和节点数下的选择"),
        'table = cs.nccl.predict_choices("allreduce", cs.machine("dgx-h100", nodes=2))\n'
        "figure = nccl_plots.choice_map(table, language=LANGUAGE).figure",
    ),
    Exhibit(
        "step-ddp",
        ("A step of DDP: buckets and overlap", "DDP 的一步：桶与重叠"),
        'machine = cs.machine("pcie-8gpu", nodes=2)\n'
        'step = cs.training_step("resnet50", machine, parallel=cs.ddp(), micro_batch=16)\n'
        "figure = step.plot(language=LANGUAGE).figure",
    ),
    Exhibit(
        "step-fsdp",
        ("A step of FSDP: gathers and reduces", "FSDP 的一步：收集与归约"),
        'two = cs.machine("pcie-8gpu", nodes=2)\n'
        'step = cs.training_step("gpt2", two, parallel=cs.fsdp(), micro_batch=4)\n'
        "figure = step.plot(language=LANGUAGE).figure",
    ),
    Exhibit(
        "step-pipeline",
        ("A step of a pipeline: the bubble", "流水线的一步：气泡"),
        'machine = cs.machine("dgx-a100")\n'
        'step = cs.training_step("gpt2", machine, parallel=cs.pipeline(4) * cs.ddp(), batch=32, micro_batch=2)\n'
        "figure = step.plot(language=LANGUAGE).figure",
    ),
)


def draw(exhibit: Exhibit, language: str) -> Figure:
    """Run the lines of a figure.

    Args:
        exhibit: The figure.
        language: `en` or `zh`.
    """
    names: dict[str, Any] = {}
    exec(compile(IMPORTS + write_code(exhibit, language), exhibit.name, "exec"), names)
    figure = names["figure"]
    assert isinstance(figure, Figure)
    return figure


def write_code(exhibit: Exhibit, language: str) -> str:
    """The lines of a figure in a language."""
    return exhibit.code.replace("LANGUAGE", f'"{language}"')


def render(figure: Figure) -> tuple[bytes, bytes]:
    """A figure as SVG and as PNG of at most 256 colours; the same bytes each time."""
    vector, pixels, small = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "collsim"}):
        figure.savefig(vector, format="svg", metadata={"Date": None, "Creator": "collsim", "Rights": "MIT licence"})
    figure.savefig(pixels, format="png", dpi=110)
    Image.open(pixels).convert("RGB").quantize(256).save(small, format="png", optimize=True)
    return vector.getvalue(), small.getvalue()


def list_files(exhibit: Exhibit, language: str) -> Iterator[tuple[str, str, Path]]:
    """Theme, suffix and path of each file of a figure in a language."""
    for theme in ("light", "dark"):
        for suffix in ("svg", "png"):
            yield theme, suffix, FOLDER / f"{exhibit.name}.{language}.{theme}.{suffix}"


def write_page(language: str) -> str:
    """The page of a language."""
    k = LANGUAGES.index(language)
    words = {"en": ("light", "dark"), "zh": ("浅色", "深色")}[language]
    parts = [HEADS[language]]
    for exhibit in EXHIBITS:
        links = [
            f"[{suffix.upper()}, {words[('light', 'dark').index(theme)]}](gallery/{path.name})"
            for theme, suffix, path in list_files(exhibit, language)
        ]
        code = write_code(exhibit, language)
        picture = f"![{exhibit.titles[k]}](gallery/{exhibit.name}.{language}.light.png)"
        parts.append(f"## {exhibit.titles[k]}\n\n{picture}\n\n{' · '.join(links)}\n\n```py\n{code}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write pages and figures."""
    FOLDER.mkdir(exist_ok=True)
    for language in LANGUAGES:
        PAGES[language].write_text(write_page(language), encoding="utf-8")
        for exhibit in EXHIBITS:
            light = draw(exhibit, language)
            rendered = {"light": render(light), "dark": render(darken(light))}
            for theme, suffix, path in list_files(exhibit, language):
                path.write_bytes(rendered[theme][("svg", "png").index(suffix)])


if __name__ == "__main__":
    main()
