"""Draw the figures of the reference that the gallery lacks, into `docs/reference/figures`:
`python docs/make_reference_figures.py`.

A figure belongs to a public name. Topologies and runs are drawn by matplotlib (PNG, an `Exhibit` of the gallery), rank
programs as lanes (SVG).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from make_gallery import LANGUAGES, Exhibit, draw, render

import collsim as cs
from collsim.display.palette import TOKENS
from collsim.programs import ProgramRun
from collsim.viz.program.program_image import ProgramPicture

FOLDER = Path(__file__).parent / "reference" / "figures"


def _build_exhibit(shape: str, call: str) -> Exhibit:
    """The figure of a topology that is built by a call."""
    title = f"cs.topology.{call}"
    return Exhibit(f"topology.{shape}", (title, title), f"figure = cs.topology.{call}.draw(language=LANGUAGE).figure")


#: Figures by the public name that they belong to.
EXHIBITS = (
    _build_exhibit("dragonfly", "dragonfly(1, 3, 1)"),
    _build_exhibit("fat_tree", "fat_tree(4)"),
    _build_exhibit("fully_connected", "fully_connected(6)"),
    _build_exhibit("hypercube", "hypercube(8)"),
    _build_exhibit("line", "line(5)"),
    _build_exhibit("mesh", "mesh(4, 3)"),
    _build_exhibit("ring", "ring(8)"),
    _build_exhibit("star", "star(6)"),
    _build_exhibit("switch", "switch(8)"),
    _build_exhibit("torus", "torus(4, 3)"),
    _build_exhibit("tree", "tree(7)"),
    Exhibit(
        "synthesize",
        ("A synthesized allgather uses every link of a torus", "合成的 allgather 用满环面的每条链路"),
        "torus = cs.topology.torus(3, 5)\n"
        'trace = cs.simulate(cs.synthesize("allgather", torus, "64MiB"), torus, "64MiB")\n'
        "figure = machine_picture.draw_machine_figure(trace, LANGUAGE)",
    ),
    Exhibit(
        "lower_bound",
        ("The gap: two algorithms above the lower bound", "与下界的差距：两种算法与下界"),
        'names = ["allreduce_ring", "allreduce_double_binary_tree"]\n'
        'frame = cs.sweep("allreduce", names, cs.machine("dgx-a100", nodes=2), cs.size_range("1KiB:1GiB:4"))\n'
        "ax, bounds = plots.time_over_size(frame, language=LANGUAGE), frame[frame.algorithm == names[0]]\n"
        'ax.plot(bounds.nbytes, bounds.bound, "k--", label={"en": "lower bound", "zh": "下界"}[LANGUAGE])\n'
        'figure = ax.legend(frameon=False, prop={"family": ax.xaxis.label.get_family()}).figure',
    ),
    Exhibit(
        "upgrades",
        (
            "What each better part of two PCIe servers saves, in % of the step",
            "两台 PCIe 服务器：换哪个部件省多少，占一步的 %",
        ),
        'box = cs.machine("pcie-8gpu", nodes=2, gpus=4, nic="roce-25", nics=1, pcie=3)\n'
        'step = cs.training_step("resnet50", box, parallel=cs.ddp(), micro_batch=16, dtype="bfloat16")\n'
        'rows = [row for row in cs.upgrades(step).to_frame().to_dict("records") if not row["pair"]][7::-1]\n'
        "from matplotlib.figure import Figure\n"
        'figure = Figure(figsize=(7.2, 3.4), layout="constrained")\n'
        'names, shares = [row["change"] for row in rows], [100 * row["share"] for row in rows]\n'
        'figure.subplots().barh(names, shares, color="#3E8FC8")',
    ),
    Exhibit(
        "viz.pictures.plots.time_over_chunks",
        ("A chain of eight ranks: too few chunks, and too many", "八个 rank 的链：chunk 太少或太多"),
        'tried = cs.best("broadcast", cs.topology.line(8), "64MiB", algorithm=["broadcast_chain"]).tried\n'
        "figure = plots.time_over_chunks(tried, language=LANGUAGE).figure",
    ),
)


def run_swap() -> ProgramRun:
    """Two ranks that exchange their buffers, one sending first and one receiving first."""
    source = """
import torch.distributed as dist
def swap(send, recv):
    other = 1 - dist.get_rank()
    if dist.get_rank() == 0:
        dist.send(send, other)
        dist.recv(recv, other)
    else:
        dist.recv(recv, other)
        dist.send(send, other)
"""
    return cs.program(source, ranks=2, entry="swap")


#: Runs of rank programs by the public name that their lanes belong to, with titles in English and Chinese.
RUNS: dict[str, tuple[tuple[str, str], Callable[[], ProgramRun]]] = {
    "program": (
        (
            "Two ranks exchange their buffers: one sends first, one receives first",
            "两个 rank 交换缓冲区：一个先发，一个先收",
        ),
        run_swap,
    ),
    "programs.Hang": (
        ("All ranks send first: each waits for the next", "所有 rank 都先发送：每个都在等下一个"),
        lambda: cs.programs.list_hangs()["send_first"].run(),
    ),
}


def list_figures() -> dict[str, tuple[str, str]]:
    """The titles of each figure, in English and Chinese, by the public name that it belongs to."""
    return {exhibit.name: exhibit.titles for exhibit in EXHIBITS} | {name: titles for name, (titles, _) in RUNS.items()}


def find_path(name: str, language: str) -> Path:
    """The file of a figure in a language; lanes have no words."""
    return FOLDER / (f"{name}.svg" if name in RUNS else f"{name}.{language}.png")


def draw_lanes(name: str) -> str:
    """The lanes of a rank program as SVG, on the light background that their colours need."""
    _, run = RUNS[name]
    return ProgramPicture(run()).svg().replace("<svg ", f'<svg style="background:{TOKENS["card"][0]}" ', 1)


def main() -> None:
    """Draw all figures."""
    FOLDER.mkdir(exist_ok=True)
    for exhibit in EXHIBITS:
        for language in LANGUAGES:
            _, pixels = render(draw(exhibit, language))
            find_path(exhibit.name, language).write_bytes(pixels)
    for name in RUNS:
        find_path(name, "en").write_text(draw_lanes(name), encoding="utf-8")


if __name__ == "__main__":
    main()
