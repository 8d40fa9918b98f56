"""What the page on collisions computes: times of each routing over the seeds, and the flows on the cables of a few
seeds, as plain data. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import collsim as cs
from collsim.analysis import RoutingTimes, compare_routing, count_uplink_flows, expected_maximum_load
from collsim.registry import get_algorithm
from collsim.simulate import expected_cost
from collsim.topology.fabrics import ROUTED_FABRICS, ROUTINGS, SEEDED_ROUTINGS
from collsim.topology.network import Topology

from ...jobs.job_spec import job, report_progress
from ...scenario.address_parameters import Control, declare_word, list_words
from ...scenario.choice import (
    WORDS,
    Choice,
    MachineChoice,
    build_machine_address,
    create_whole_reader,
    declare_menu,
)
from ...scenario.outcome import build_topology

#: Seeds of a distribution.
SEEDS = (20, 100, 500)
#: ECMP on rails whose GPUs may not hand data to a neighbour first.
NO_PXN = "no-pxn"
#: Which seeds of a distribution are drawn.
WHICH = ("best", "median", "worst")


@dataclass(frozen=True)
class RoutingChoice(MachineChoice):
    """An algorithm on a machine, and how many seeds; names as in `compare_routing`.

    Attributes:
        machine: name of the machine.
        nodes: how many of it.
        fabric: what joins them, with several equal routes.
        algorithm: its name.
        nbytes: size with its unit.
        seeds: how many hash seeds.
        which: the seed whose cables are drawn, one of `WHICH`.
    """

    machine: str = "dgx-h100"
    nodes: int = 8
    fabric: str = "leaf-spine"
    algorithm: str = declare_menu("alltoall_pairwise", "algorithm", cs.algorithms, text="algorithm", names="algorithm")
    nbytes: str = "256MiB"
    seeds: int = declare_word(100, create_whole_reader(SEEDS), control=Control("segments", lambda: SEEDS))
    which: str = declare_menu(
        "worst", "seed", lambda: WHICH, kind="segments", text="routing.seed", names="routing.which"
    )

    @property
    def run(self) -> Choice:
        """The run on this machine with its own routing."""
        collective = get_algorithm(self.algorithm).collective
        return replace(self.where, collective=collective, algorithm=self.algorithm, nbytes=self.nbytes)

    @property
    def compared(self) -> RoutingChoice:
        """The choice without what only changes the picture, or what every routing sets itself."""
        parts = tuple(part for part in self.parts if part[0] not in ("routing", "hash_seed"))
        return replace(self, which=RoutingChoice.which, parts=parts)


PLAIN = RoutingChoice()
ADDRESS = build_machine_address(PLAIN, (WORDS["nbytes"], *list_words(PLAIN)))


@dataclass(frozen=True)
class CollisionLoad:
    """How the flows of one run lie on the cables between switches.

    Attributes:
        routing: of the network; `NO_PXN` for ECMP on rails without PXN.
        seed: of the hash.
        time: s.
        cables: a row for each cable and direction: `switch` (the lower one), `cable` (its number there), `direction`
            (`up` or `down`), `flows`.
    """

    routing: str
    seed: int
    time: float
    cables: pd.DataFrame


@dataclass(frozen=True)
class CollisionStudy:
    """All that the page shows.

    Attributes:
        rows: the record of each routing (`RoutingTimes.row`).
        times: a row for each run: `routing`, `seed`, `time`.
        loads: by `WHICH` the cables of the run with that time of the routing that hashes each flow.
        leaving: most flows that go up from one switch in the step that is drawn of the worst seed.
        uplinks: cables upwards of a switch.
        expected: flows on its busiest cable where each picks one at random; None where no flow leaves.
    """

    rows: list[dict[str, Any]]
    times: pd.DataFrame
    loads: dict[str, CollisionLoad]
    leaving: int
    uplinks: int
    expected: float | None


def estimate_duration(choice: RoutingChoice) -> float:
    """Seconds that `study_collisions` should take.

    Args:
        choice: what runs, where, and how many seeds.
    """
    topology = build_topology(choice)
    if topology.facts.fabric not in ROUTED_FABRICS:
        return 0.1
    seconds = expected_cost(cs.schedule(choice.algorithm, topology=topology), topology, choice.nbytes).seconds
    return 0.5 + (len(SEEDED_ROUTINGS) * choice.seeds + 6) * (seconds + 2e-3)


@job(estimate_duration)
def study_collisions(choice: RoutingChoice) -> CollisionStudy:
    """Time each routing over the seeds.

    Args:
        choice: what runs, where, and how many seeds.

    Raises:
        CollsimError: The machine has no fabric with several equal routes, or the run cannot be.
    """
    topology = build_topology(choice)
    schedule = cs.schedule(choice.algorithm, topology=topology)
    compared = _compare(schedule, topology, choice, ROUTINGS)
    hashed = "ecmp"
    if topology.facts.fabric == "rail":
        hashed = NO_PXN
        compared[NO_PXN] = _compare(schedule, topology.with_(pxn=False), choice, ("ecmp",))["ecmp"]
    loads = {which: _find_load(hashed, compared[hashed], schedule, choice, which) for which in WHICH}
    worst = loads["worst"].cables
    up = worst[worst["direction"] == "up"].groupby("switch", sort=False)["flows"].agg(["sum", "size"])
    leaving, uplinks = int(up["sum"].max()), int(up["size"].iloc[0])
    expected = None
    if leaving:
        expected = expected_maximum_load(leaving, uplinks)
    rows = [{**entry.row(), "routing": name} for name, entry in compared.items()]
    times = [entry.to_frame().assign(routing=name) for name, entry in compared.items()]
    return CollisionStudy(rows, pd.concat(times, ignore_index=True), loads, leaving, uplinks, expected)


def _compare(
    schedule: cs.Schedule,
    topology: Topology,
    choice: RoutingChoice,
    routings: tuple[str, ...],
) -> dict[str, RoutingTimes]:
    compared = compare_routing(
        schedule, topology, choice.nbytes, routings=routings, seeds=choice.seeds, progress=_report_runs
    )
    return dict(compared)


def _report_runs(done: int, total: int) -> None:
    report_progress("run", done / total)


def _find_load(
    name: str, entry: RoutingTimes, schedule: cs.Schedule, choice: RoutingChoice, which: str
) -> CollisionLoad:
    """The cables of the run with the shortest, median or longest time."""
    wanted = {"best": entry.times.min(), "median": entry.median, "worst": entry.times.max()}[which]
    number = int(np.flatnonzero(entry.times == wanted)[0])
    seed = int(entry.seeds[number])
    topology = entry.build_topology(seed)
    trace = cs.simulate(schedule, topology, choice.nbytes)
    return CollisionLoad(name, seed, trace.time, _tabulate_cables(topology, *count_uplink_flows(trace)))


def _tabulate_cables(topology: Topology, links: np.ndarray[Any, Any], flows: np.ndarray[Any, Any]) -> pd.DataFrame:
    """A row for each cable between switches and direction."""
    # Links of a cable follow one another, the way up first.
    up, down = links[0::2], links[1::2]
    names = [topology.devices.name[i].removeprefix("fabric/") for i in topology.links.src[up].tolist()]
    frame = pd.DataFrame({"switch": names, "up": flows[0::2], "down": flows[1::2]})
    assert len(up) == len(down)
    frame["cable"] = frame.groupby("switch").cumcount()
    return frame.melt(["switch", "cable"], ["up", "down"], "direction", "flows")
