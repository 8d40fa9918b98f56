"""One question, one answer: fifty questions are asked through every interface, and all say the same.

The interfaces are Python, the command line, the app (what its pages compute from an address, and what three of them print),
the notebooks (their text and their cells) and the static site. The answers stand in the table, so that a change of one
is seen here.
"""

import base64
import gzip
import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import collsim as cs
from collsim import site
from collsim.app.scenario import outcome
from collsim.app.scenario.choice import from_query
from collsim.app.shell import results
from collsim.cli import app
from collsim.nccl import predict_with_simulation
from collsim.site.gallery import NETWORKS, list_runs
from collsim.site.static_site import _write_run
from collsim.viz.timeline.timeline_document import decode

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Run:
    """A run that is asked about: an algorithm on a machine or a network, for so many bytes."""

    algorithm: str
    place: str
    nbytes: str = "256MiB"
    nodes: int = 1
    ranks: int | None = None
    more: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def network(self):
        if self.ranks is not None:
            return cs.topology.NETWORKS[self.place](self.ranks, bandwidth="25GB/s", alpha="1us")
        return cs.machine(self.place, nodes=self.nodes, p2p="p2p" not in self.more, gdr="gdr" not in self.more)

    @property
    def words(self):
        """For the command line."""
        if self.ranks is not None:
            return ["--topology", f"{self.place}({self.ranks}, bandwidth=25GB/s, alpha=1us)"]
        off = [f"--no-{name}" for name, value in self.more.items() if value == "off"]
        return ["--machine", self.place, "--nodes", str(self.nodes), *off]

    @property
    def query(self):
        """For the address of a page."""
        found = {"nbytes": self.nbytes, **self.more}
        if self.ranks is not None:
            return {**found, "network": self.place, "ranks": str(self.ranks), "bandwidth": "25GB/s", "alpha": "1us"}
        return {**found, "machine": self.place, "nodes": str(self.nodes)}


RING_2A100 = Run("allreduce_ring", "dgx-a100", nodes=2)
RING_2A100_NO_GDR = Run("allreduce_ring", "dgx-a100", nodes=2, more={"gdr": "off"})
RING_A100 = Run("allreduce_ring", "dgx-a100", "64MiB")
RING_H100 = Run("allreduce_ring", "dgx-h100", "1GiB")
NVLS_H100 = Run("allreduce_nvls", "dgx-h100", "1GiB")
RING_PCIE = Run("allreduce_ring", "pcie-8gpu", "64MiB")
RING_PCIE_OFF = Run("allreduce_ring", "pcie-8gpu", "64MiB", more={"p2p": "off"})
RING_ROOT_OFF = Run("allreduce_ring", "pcie-8gpu-single-root", "64MiB", more={"p2p": "off"})
RING_V100 = Run("allreduce_ring", "dgx-1v", "64MiB")
TREE_2A100 = Run("allreduce_double_binary_tree", "dgx-a100", "1MiB", nodes=2)
CHAIN_A100 = Run("broadcast_chain", "dgx-a100", "64MiB")
GATHER_4H100 = Run("allgather_ring", "dgx-h100", "1GiB", nodes=4)
SWITCH_RING = Run("allreduce_ring", "switch", "64MiB", ranks=8)
SWITCH_SERVER = Run("allreduce_parameter_server", "switch", "64MiB", ranks=8)
SWITCH_DOUBLING = Run("allreduce_recursive_doubling", "switch", "1KiB", ranks=8)

#: Of each run: what is asked, and the answer as it is written in a sentence.
OF_RUNS = [
    (RING_2A100, "time", "2.61 ms"),
    (RING_2A100, "busbw", "193 GB/s"),
    (RING_2A100, "channels", "8"),
    (RING_2A100, "steps", "30"),
    (RING_2A100, "bound", "1.52 ms"),
    (RING_2A100, "bottleneck", "infiniband"),
    (RING_2A100_NO_GDR, "time", "8.16 ms"),
    (RING_2A100_NO_GDR, "bottleneck", "pcie"),
    (RING_A100, "time", "411 µs"),
    (RING_A100, "channels", "1"),
    (RING_A100, "bound", "391 µs"),
    (RING_H100, "time", "4.2 ms"),
    (RING_H100, "busbw", "448 GB/s"),
    (RING_H100, "bottleneck", "nvlink"),
    (NVLS_H100, "time", "5.37 ms"),
    (NVLS_H100, "steps", "4"),
    (NVLS_H100, "bound", "2.39 ms"),
    (RING_PCIE, "time", "3.76 ms"),
    (RING_PCIE, "bottleneck", "pcie"),
    (RING_PCIE_OFF, "time", "7.49 ms"),
    (RING_PCIE_OFF, "bound", "3.73 ms"),
    (RING_ROOT_OFF, "time", "29.9 ms"),
    (RING_V100, "time", "793 µs"),
    (RING_V100, "channels", "6"),
    (TREE_2A100, "time", "36.9 µs"),
    (TREE_2A100, "steps", "16"),
    (CHAIN_A100, "time", "1.58 ms"),
    (CHAIN_A100, "bound", "224 µs"),
    (GATHER_4H100, "time", "2.68 ms"),
    (GATHER_4H100, "bound", "2.08 ms"),
    (SWITCH_RING, "time", "4.73 ms"),
    (SWITCH_RING, "steps", "14"),
    (SWITCH_RING, "bound", "4.7 ms"),
    (SWITCH_SERVER, "time", "37.6 ms"),
    (SWITCH_DOUBLING, "time", "6.12 µs"),
]
#: Of NCCL: the collective, the place, the size, what is asked, and the answer.
OF_NCCL = [
    ("allreduce", Run("", "dgx-h100", nodes=2), "1GiB", "time", "4.27 ms"),
    ("allreduce", Run("", "dgx-h100", nodes=2), "1GiB", "algorithm", "NVLSTree"),
    ("allreduce", Run("", "dgx-a100", nodes=2), "1MiB", "time", "105 µs"),
    ("allreduce", Run("", "dgx-a100", nodes=2), "1MiB", "note", "fill"),
    ("allreduce", Run("", "pcie-8gpu"), "1GiB", "time", "107 ms"),
    ("allreduce", Run("", "pcie-8gpu"), "1GiB", "note", "rate"),
    ("allreduce", Run("", "pcie-8gpu", more={"p2p": "off"}), "1GiB", "time", "213 ms"),
    ("alltoall", Run("", "dgx-h100"), "64MiB", "note", "rate"),
]
#: Of a comparison: the collective, the place, the size, what is asked, and the answer.
OF_COMPARE = [
    ("allreduce", Run("", "dgx-a100", nodes=2), "256MiB", "winner", "allreduce_double_binary_tree"),
    ("allreduce", Run("", "dgx-a100", nodes=2), "1KiB", "winner", "allreduce_sharp"),
    ("allreduce", Run("", "dgx-h100"), "1GiB", "winner", "allreduce_nvls"),
    ("allreduce", Run("", "dgx-h100"), "1GiB", "chosen", "1 x 64"),
    ("broadcast", Run("", "dgx-a100"), "64MiB", "winner", "broadcast_double_binary_tree"),
    ("allreduce", Run("", "switch", ranks=8), "64MiB", "winner", "allreduce_halving_doubling"),
    ("allgather", Run("", "pcie-8gpu"), "64MiB", "winner", "allgather_hierarchical"),
]


#: The algorithms that are compared, those that lead somewhere; all of them at their best of channels and chunks.
COMPARED = {
    "allreduce": ("ring", "double_binary_tree", "hierarchical", "nvls", "sharp", "halving_doubling"),
    "broadcast": ("chain", "binomial", "double_binary_tree"),
    "allgather": ("ring", "direct", "hierarchical"),
}


def names(collective):
    return [f"{collective}_{name}" for name in COMPARED[collective]]


def words_of(what, value):
    """A value as a sentence says it."""
    if what in ("time", "bound"):
        return cs.format_time(value)
    return cs.format_bandwidth(value) if what == "busbw" else str(value)


#: What a sentence calls a kind of link.
CALLED = {"nvlink": "NVLink", "pcie": "PCIe", "infiniband": "InfiniBand", "network": "cable", "upi": "UPI"}


def name_kind(neck):
    """The kind of link that the sentence about a bottleneck begins with."""
    head = neck["text"]["en"].split(" is ")[0]
    return next((kind for kind, name in CALLED.items() if name.lower() in head.lower()), head)


# ---- the interfaces, for a run


@cache
def by_python(run):
    network = run.network
    t = cs.simulate(cs.schedule(run.algorithm, topology=network), network, run.nbytes)
    return {
        "time": t.time,
        "busbw": t.busbw,
        "channels": t.schedule.channels,
        "steps": t.schedule.steps,
        "bound": t.bound.time,
        "bottleneck": t.bottleneck.kind,
    }


def run_command(*words):
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done.stderr


@cache
def by_command(run):
    row, _ = run_command("run", run.algorithm, *run.words, "--nbytes", run.nbytes)
    return {name: row[name] for name in ("time", "busbw", "channels", "steps", "bound")} | {
        "bottleneck": row["bottleneck"]["kind"]
    }


@cache
def by_page(run):
    """What Explore shows, from the address that a person would share."""
    collective = run.algorithm.split("_")[0] if not run.algorithm.startswith("reduce_scatter") else "reduce_scatter"
    choice, complaints = from_query({"collective": collective, "algorithm": run.algorithm, **run.query})
    assert complaints == []
    shown = outcome.compute_outcome(choice)
    made = decode(shown.timeline)
    assert shown.bottleneck["text"] == made["bottleneck"]["text"]
    found = {
        "time": shown.figures.time,
        "busbw": shown.figures.busbw,
        "channels": shown.channels,
        "steps": shown.figures.steps,
        "bound": shown.figures.bound,
        "bottleneck": name_kind(shown.bottleneck),
    }
    assert made["figures"]["time"] == pytest.approx(shown.figures.time)
    return found


ONES_ON_SITE = (
    NETWORKS[0],
    *(network for network in NETWORKS if network.key in ("dgx-a100", "dgx-1v", "pcie-8gpu", "pcie-8gpu~no-p2p")),
)


@pytest.fixture(scope="module")
def stick(tmp_path_factory):
    """A folder with some runs of the static site, as the site writes them; its lessons would take most of the time."""
    folder = tmp_path_factory.mktemp("stick")
    (folder / "runs").mkdir()
    only = ("allreduce_ring", "allreduce_parameter_server", "broadcast_chain")
    for run in list_runs(ONES_ON_SITE, only):
        _write_run(folder, run.key, run.trace, 1)
    return folder


def on_site(stick, run):
    """What the player of the site gets for this run; None where the gallery has not this run."""
    if run.nbytes != "64MiB" or run.nodes > 1 or run.place == "pcie-8gpu-single-root":
        return None
    place = run.place + ("~no-p2p" if run.more else "")
    path = stick / "runs" / f"{site.gallery.make_slug(f'{run.algorithm}--{place}--{run.ranks or 8}')}.js"
    if not path.is_file():
        return None
    packed = re.search(r'collsimRun\("[^"]+","([^"]+)"\)', path.read_text(encoding="ascii"))[1]
    made = json.loads(gzip.decompress(base64.b64decode(packed)))["timeline"]
    return {
        "time": made["figures"]["time"],
        "busbw": made["figures"]["busbw"],
        "bound": made["figures"]["bound"],
        "channels": made["meta"]["channels"],
        "steps": len(made["steps"]["t0"]),
        "bottleneck": name_kind(made["bottleneck"]),
    }


#: Where the notebooks write the same answers.
IN_NOTEBOOKS = {
    (RING_2A100, "time"): "06",
    (RING_2A100_NO_GDR, "time"): "06",
    (RING_2A100_NO_GDR, "bottleneck"): "06",
    (RING_PCIE, "time"): "05",
    (RING_PCIE_OFF, "time"): "05",
    (RING_ROOT_OFF, "time"): "05",
    (RING_A100, "time"): "05",
    (RING_V100, "time"): "05",
    (SWITCH_RING, "time"): "04",
    (SWITCH_RING, "steps"): "02",
    (SWITCH_SERVER, "time"): "02",
}


@pytest.mark.parametrize(("run", "what", "answer"), OF_RUNS, ids=lambda value: str(value)[:40])
def test_a_run_has_one_answer(run, what, answer, stick):
    value = by_python(run)[what]
    assert words_of(what, value) == answer
    answers = {"command": by_command(run), "page": by_page(run), "site": on_site(stick, run)}
    for interface, found in answers.items():
        if found is not None:
            same = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert found[what] == same, interface
    if number := IN_NOTEBOOKS.get((run, what)):
        for path in (*ROOT.glob(f"notebooks/{number}-*.ipynb"), *ROOT.glob(f"notebooks/zh/{number}-*.ipynb")):
            assert re.search(rf"(?<![\d.]){re.escape(answer)}(?!\d)", _text(path)), path.name


def _text(path):
    return path.read_text(encoding="utf-8")


@cache
def predicted(collective, run, nbytes):
    return predict_with_simulation(collective, run.network, nbytes)


@pytest.mark.parametrize(("collective", "run", "nbytes", "what", "answer"), OF_NCCL, ids=lambda value: str(value)[:40])
def test_a_prediction_has_one_answer_and_one_note(collective, run, nbytes, what, answer):
    """The same time, algorithm and notes from Python and the command line; the term that sets it apart from a simulation
    also from Explore, where the run is the one that NCCL would choose."""
    p = predicted(collective, run, nbytes)
    (row,), _ = run_command("predict", collective, *run.words, "--nbytes", f"{nbytes}:{nbytes}:2")
    lines = [note for note in p.notes if "mostly from the term" in note]
    assert row["time"] == pytest.approx(p.time, rel=1e-9)
    assert (row["algorithm"], row["protocol"], row["channels"]) == (p.algorithm, p.protocol, p.channels)
    assert set(lines) <= set(row["notes"])
    assert cs.nccl.predict(collective, run.network, nbytes).time == p.time
    said = {"time": words_of("time", p.time), "algorithm": p.algorithm, "note": ""}[what]
    if what == "note":
        said = re.search(r"mostly from the term (\w+)", lines[0])[1]
        if p.algorithm == "Ring":
            choice, _ = from_query(
                {"collective": collective, "algorithm": f"{collective}_ring", **run.query, "nbytes": nbytes}
            )
            assert any(f"the term {said}" in en for en, _ in outcome.compute_outcome(choice).notes)
    assert said == answer


@cache
def compared(collective, run, nbytes):
    return cs.compare(collective, run.network, nbytes, algorithm=names(collective))


@pytest.mark.parametrize(
    ("collective", "run", "nbytes", "what", "answer"), OF_COMPARE, ids=lambda value: str(value)[:40]
)
def test_a_comparison_has_one_winner(collective, run, nbytes, what, answer):
    first = compared(collective, run, nbytes).iloc[0]
    only = [word for name in names(collective) for word in ("--algorithm", name)]
    rows, _ = run_command("compare", "--collective", collective, *only, *run.words, "--nbytes", f"{nbytes}:{nbytes}:2")
    there = rows[0]
    assert there["time"] == pytest.approx(first["time"], rel=1e-9)
    assert (there["algorithm"], there["channels"], there["chunks"]) == (
        first["algorithm"],
        first["channels"],
        first["chunks"],
    )
    query = {
        "collective": collective,
        **run.query,
        "sizes": f"{nbytes}:{nbytes}:2",
        "algorithms": ",".join(names(collective)),
    }
    choice, complaints = from_query({name: value for name, value in query.items() if name != "nbytes"})
    assert complaints == []
    table = outcome.compare(choice).set_index("algorithm")
    (leader,), _ = outcome.find_crossings(table.reset_index())
    assert table["time"][leader] == pytest.approx(first["time"], rel=1e-9)
    assert leader == first["algorithm"]
    assert {"winner": first["algorithm"], "chosen": f"{first['channels']} x {first['chunks']}"}[what] == answer


def test_equal_times_stand_in_one_order_through_every_interface():
    """Allgather on a PCIe box: as a ring and hierarchical it takes the same time, whoever is listed first."""
    run = Run("", "pcie-8gpu", "64MiB")
    network = run.network
    two = ["allgather_ring", "allgather_hierarchical"]
    times = [cs.compare("allgather", network, "64MiB", algorithm=[name])["time"].iloc[0] for name in two]
    assert times[0] == pytest.approx(times[1], rel=1e-12)
    for given in (two, two[::-1]):
        only = [word for name in given for word in ("--algorithm", name)]
        rows, _ = run_command("compare", "--collective", "allgather", *only, *run.words, "--nbytes", "64MiB:64MiB:2")
        choice, _ = from_query(
            {"collective": "allgather", **run.query, "sizes": "64MiB:64MiB:2", "algorithms": ",".join(given)}
        )
        table = outcome.compare(choice)
        answers = {
            "python": cs.compare("allgather", network, "64MiB", algorithm=given)["algorithm"].iloc[0],
            "best": cs.best("allgather", network, "64MiB", algorithm=given).trace.schedule.name,
            "command": rows[0]["algorithm"],
            "page": outcome.find_crossings(table)[0][0],
        }
        assert set(answers.values()) == {"allgather_hierarchical"}, answers


def explore():
    from collsim.app.main import main

    main()


@pytest.mark.parametrize(
    "run", [RING_2A100, RING_PCIE_OFF, SWITCH_SERVER], ids=lambda run: f"{run.algorithm}-{run.place}"
)
def test_the_page_prints_what_it_computed(run, monkeypatch):
    """What stands in the headline of Explore, read off the page itself."""
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    at = AppTest.from_function(explore, default_timeout=60)
    for name, value in {"algorithm": run.algorithm, **run.query}.items():
        at.query_params[name] = value
    at.run()
    text = re.sub("<.*?>", "", " ".join(e.proto.body for e in at.get("html"))).replace("\N{NO-BREAK SPACE}", " ")
    for what in ("time", "busbw", "bound"):
        assert words_of(what, by_python(run)[what]) in text, what


def test_there_are_fifty_questions():
    assert len(OF_RUNS) + len(OF_NCCL) + len(OF_COMPARE) == 50
