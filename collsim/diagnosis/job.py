"""The machine and the measurement of a job, put together from all pieces of evidence."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CollsimError, Sentence, Words
from ..errors.collected_warnings import collect_warnings
from ..errors.dependencies import pandas as pd
from ..io.file_formats import find_schedule_format
from ..io.nccl.nccl_log import NcclCommunicator, parse_nccl_log
from ..io.nccl.nccl_tests import parse_nccl_tests
from ..nccl.measured.published_runs import MeasuredRun, create_run
from ..nccl.nccl_prediction import Prediction
from ..package_data import read_toml
from ..topology import Topology, parse_topology_text
from ..topology.files.nccl_tree import extract_tree
from ..topology.files.unread import find_unread_format
from ..topology.machines import machine as build_machine
from ..units import format_time
from .causes import find_isolated_containers
from .comparison_causes import find_lost_links
from .evidence_pieces import Evidence
from .readers.benchmark_tables import MeasuredTime
from .readers.network_tools import CardPort, CardTest
from .readers.profiler_traces import ProfiledTime
from .readers.tool_readers import TOPOLOGY_FILE

_RACK = "gb200-nvl72"
#: Characters of a text that are looked at to find out what it is.
_HEAD = 2**20
#: Names of GPUs, and the machine of the catalogue that such GPUs mostly are in where only the name is known.
_USUAL_MACHINES: dict[str, str] = read_toml(__file__, "job.toml")["machines"]
#: Gbit/s of a port and the names of cards: InfiniBand, and RoCE for Ethernet.
_INFINIBAND = {100: "ib-edr", 200: "ib-hdr", 400: "ib-ndr", 800: "ib-xdr"}
#: Gbit/s of the Ethernet cards that are sold.
_ROCE = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True)
class ObservedJob:
    """What a job ran on, and how long it took.

    Attributes:
        machine: all nodes; None where the evidence does not describe one.
        nodes: of the job.
        ranks: of the job; 0 where nothing says.
        log: of NCCL, the largest communicator of the first log that has one.
        run: measured times on that machine; None without a table or machine.
        notes: what could not be used, and why.
    """

    machine: Topology | None
    nodes: int
    ranks: int
    log: NcclCommunicator | None
    run: MeasuredRun | None
    notes: tuple[Words, ...]


class MeasuredTable(NamedTuple):
    """Times of one collective.

    Attributes:
        collective: its name.
        nbytes: nccl-tests' sizes.
        times: seconds, one for each size.
        ranks: that took part; 0 where nothing says.
        piece: name of the piece that has them.
    """

    collective: str
    nbytes: list[int]
    times: list[float]
    ranks: int
    piece: str


def describe_job(evidence: Evidence) -> ObservedJob:
    """Put machine and measurement of a job together.

    Args:
        evidence: all pieces.

    Returns:
        The job, with a note for each part that is not known.
    """
    notes: list[Words] = [*evidence.notes]
    nodes, ranks = _count_nodes(evidence)
    if find_isolated_containers(evidence):  # without that fault they are one node
        nodes = 1
    machine, source = None, ""
    try:
        machine, source = _build_machine(evidence, nodes, ranks)
    except CollsimError as error:
        notes.append(error.sentence)
    if machine is not None and source not in evidence.texts:
        message = "nothing describes the machine; it is taken for {machine}, which has such GPUs ({gpu})"
        notes.append(Sentence(message, machine=machine.name, gpu=source))
    log = _read_log(evidence, notes)
    run = _build_run(evidence, machine, ranks, log, notes)
    notes += _describe_overlap(evidence)
    notes += _describe_unread(evidence)
    return ObservedJob(machine, nodes, ranks, log, run, tuple(notes))


def _describe_overlap(evidence: Evidence) -> Iterator[Words]:
    """How much of the time in collectives was hidden behind computing, on the rank where most was not."""
    traces = evidence.select_values("job.overlap", ProfiledTime)
    for fact, time in traces:
        if not time.seconds:
            yield Sentence("{piece}: this trace has no kernel of NCCL; profile the GPU", piece=Path(fact.piece).name)
    times = [time for _, time in traces if time.seconds]
    if not times:
        return
    worst = max(times, key=lambda time: time.exposed)
    yield Sentence(
        "profiled ranks: {count}; collectives are hidden least on rank {rank}: they ran for {seconds}, and its GPU "
        "computed in {percent:.0f} % of that time",
        seconds=format_time(worst.seconds),
        rank=worst.rank,
        percent=100 * worst.hidden / worst.seconds,
        count=len(times),
    )
    if len(times) == 1:
        yield Sentence(
            "the trace of one rank does not tell how long it waits for others, so its times are compared with no "
            "prediction; give the traces of all ranks"
        )


def _describe_unread(evidence: Evidence) -> Iterator[Words]:
    """Pieces in which nothing was read, and what they are where that is known."""
    for piece in evidence.pieces:
        if piece.tools:
            continue
        text, name = evidence.texts[piece.name], Path(piece.name).name
        unread = find_unread_format(text)
        schedule = find_schedule_format(text[:_HEAD])
        if unread is not None and not unread.is_evidence:
            yield unread.build_error(name).sentence
        elif unread is not None:
            message = "{piece}: this looks like {tool}, but nothing in it could be read; is it complete?"
            yield Sentence(message, piece=name, tool=unread.tool)
        elif schedule:
            message = "{piece}: this is a schedule (format {format}), which says nothing of a job; cs.load reads it"
            yield Sentence(message, piece=name, format=schedule)
    if evidence.select("npu.link_kinds"):
        yield Sentence("no rates of NPUs are known, so that no prediction is made for them")


def _count_nodes(evidence: Evidence) -> tuple[int, int]:
    """Nodes and ranks: as NCCL says, else by the hosts of nccl-tests' list of devices."""
    counts = [counted for _, counted in evidence.select_values("nccl.ranks", tuple)]
    if counts:
        ranks, nodes, _ = max(counts)
        return nodes, ranks
    hosts = next(filter(None, map(list_tested_hosts, evidence.texts.values())), [])
    ranks = max((time.ranks for _, time in evidence.select_values("run.time", MeasuredTime)), default=0)
    return max(1, len(set(hosts)), len(evidence.list_values("nccl.host"))), len(hosts) or ranks


def predict_run(run: MeasuredRun | None) -> list[Prediction]:
    """Predict every size of a run.

    Args:
        run: of a job; None where nothing was measured.

    Returns:
        The predictions; none where the machine is not modelled.
    """
    if run is None:
        return []
    with contextlib.suppress(CollsimError):
        return run.predict_sizes()
    return []


def list_tested_hosts(text: str) -> list[str]:
    """Return the host of each rank in nccl-tests' list of devices; empty where the text has none."""
    return re.findall(r"#\s+Rank\s+\d{1,7} .{0,60}?\bon\s+(\S{1,80}) device", text)


def _build_machine(evidence: Evidence, nodes: int, ranks: int) -> tuple[Topology | None, str]:
    """The machine without faults: links that are down count as there, as what they cost is the question."""
    names = [str(name) for name in evidence.list_values("gpu.name")]
    machine_name = _find_usual_machine(names)
    nic, nics = _describe_cards(evidence)
    options: dict[str, Any] = {}
    if nodes > 1:
        options["nodes"] = nodes
        if nic:
            options["nic"] = nic
    with collect_warnings():  # what a reader takes for granted stands in the machine's notes
        for name, text in _list_topologies(evidence):
            # A topology of the job shows lost links as absent; the catalogue's machine shows what should be there.
            if machine_name and find_lost_links(evidence):
                break
            if names:
                options["gpu"] = names[0]
            return parse_topology_text(text, Path(name).name, **options), name
        if not machine_name:
            return None, ""
        if machine_name == _RACK:  # its trays are one NVLink domain
            return build_machine(machine_name), names[0]
        if nics and nodes > 1:
            options["nics"] = nics
        topology = build_machine(machine_name, **options)
        # Fewer GPUs than the machine has: a job on a part of each node.
        if ranks and ranks % nodes == 0 and ranks < topology.ranks:
            return build_machine(machine_name, gpus=ranks // nodes, **options), names[0]
        return topology, names[0]


def _find_usual_machine(names: list[str]) -> str:
    """The machine of the catalogue that GPUs of the first known name are mostly in; "" for none."""
    usual = (machine for name in names for form, machine in _USUAL_MACHINES.items() if re.search(form, name))
    return next(usual, "")


def _list_topologies(evidence: Evidence) -> list[tuple[str, str]]:
    """Pieces that describe a machine: files first, then the words of nvidia-smi, then the tree of a log."""
    files = evidence.find_texts(TOPOLOGY_FILE) + evidence.find_texts("nvidia-smi topo -m")
    trees = [(name, extract_tree(text)) for name, text in evidence.find_texts("NCCL log")]
    return files + [(name, tree) for name, tree in trees if tree]


def _describe_cards(evidence: Evidence) -> tuple[str, int]:
    """Name of the network's cards by rate and layer, and how many a node has; "" and 0 where nothing says.

    Ports come first; without them the largest rate of a test of a card, which reaches a little less than the port has,
    and the cards that NCCL lists.
    """
    used = max((len(cards) for cards in evidence.list_values("nccl.cards") if isinstance(cards, tuple)), default=0)
    active = [port for _, port in evidence.select_values("card.port", CardPort) if port.state == "Active"]
    if active:
        gbits = round(max(port.gbits for port in active))
        fast = len({port.card for port in active if round(port.gbits) == gbits})
        return name_card(gbits, active[0].layer), max(fast, used)
    tests = [test for _, test in evidence.select_values("card.test", CardTest)]
    if tests:
        reached = max(test.gbits for test in tests)
        gbits = next((rate for rate in _ROCE if reached <= rate), _ROCE[-1])
        return name_card(gbits, tests[0].layer), used
    return "", used


def name_card(gbits: int, layer: str) -> str:
    """Return the catalogue's name of cards of this rate; "" where it has none.

    Args:
        gbits: Gbit/s of a port.
        layer: `InfiniBand`, or another for Ethernet.
    """
    if layer == "InfiniBand":
        return _INFINIBAND.get(gbits, "")
    if gbits not in _ROCE:
        return ""
    return f"roce-{gbits}"


def _read_log(evidence: Evidence, notes: list[Words]) -> NcclCommunicator | None:
    """The largest communicator of all logs together: ranks often write one each, and only the first prints rings."""
    logs = evidence.find_texts("NCCL log")
    if not logs:
        return None
    names = ", ".join(dict.fromkeys(Path(name).name for name, _ in logs))
    try:
        return parse_nccl_log("\n".join(text for _, text in logs), names, needs_graphs=False)
    except CollsimError as error:
        notes.append(Sentence("{piece}: {reason}", piece=names, reason=error))
    return None


def _build_run(
    evidence: Evidence, machine: Topology | None, ranks: int, log: NcclCommunicator | None, notes: list[Words]
) -> MeasuredRun | None:
    """The first measurement that a prediction can be made for: nccl-tests' tables first, then those of other tools."""
    versions = [str(stated) for stated in evidence.list_values("nccl.version")]
    version = getattr(log, "version", "") or "".join(versions[:1]) or None
    run, unused = None, []
    for collective, nbytes, times, count, piece in _list_measurements(evidence, ranks, notes):
        if machine is None:
            continue
        if run is not None:
            unused.append(f"{Path(piece).name} ({collective}, {count or ranks})")
            continue
        try:
            options: dict[str, Any] = {"version": version, "unsure": ("p2p", "gdr", "net"), "log": log}
            run = create_run(collective, machine, nbytes, times, count or None, **options)
        except CollsimError as error:
            notes.append(Sentence("{piece}: {reason}", piece=Path(piece).name, reason=error))
    if unused:
        message = "only the first measurement is compared with the prediction; diagnose others alone: {tables}"
        notes.append(Sentence(message, tables=", ".join(dict.fromkeys(unused))))
    return run


def read_whole_table(text: str, name: str, notes: list[Words], ranks: int | None = None) -> pd.DataFrame:
    """Read tables of nccl-tests, without the last line where that is cut, as in a job that was killed.

    Args:
        text: of the log.
        name: of the piece.
        notes: takes what was left out.
        ranks: how many ranks ran, where the text does not say.

    Raises:
        CollsimError: There is no table, or another line is damaged.
    """
    try:
        return parse_nccl_tests(text, name, ranks=ranks)
    except CollsimError as error:
        before, end, last = text.rstrip("\n").rpartition("\n")
        if not last or text.endswith("\n"):
            raise
        table = parse_nccl_tests(before + end, name, ranks=ranks)
        notes.append(Sentence("{error}; the last line is cut and left out", error=error))
        return table


def _list_measurements(evidence: Evidence, ranks: int, notes: list[Words]) -> Iterator[MeasuredTable]:
    for name, text in evidence.find_texts("nccl-tests"):
        try:
            table = read_whole_table(text, Path(name).name, notes, ranks or None)
        except CollsimError as error:
            notes.append(Sentence("{piece}: {reason}", piece=Path(name).name, reason=error))
            continue
        if not isinstance(table["collective"].iloc[0], str):
            notes.append(Sentence("{piece}: the table does not say which collective ran", piece=Path(name).name))
            continue
        # A log with several tables is of several runs; the first collective is compared.
        rows = table[table["collective"] == table["collective"].iloc[0]]
        collective = str(rows["collective"].iloc[0])
        yield MeasuredTable(collective, rows["nbytes"].tolist(), rows["time"].tolist(), ranks, name)
    by_table: dict[tuple[str, str, str, int], list[MeasuredTime]] = {}
    for fact, time in evidence.select_values("run.time", MeasuredTime):
        by_table.setdefault((fact.piece, time.tool, time.collective, time.ranks), []).append(time)
    for (piece, tool, collective, stated_ranks), times in by_table.items():
        count = stated_ranks or ranks
        if not all(time.is_nccl for time in times):
            message = "{piece}: NCCL did not run what {tool} measured, so it is compared with no prediction"
            notes.append(Sentence(message, piece=Path(piece).name, tool=tool))
        elif any(time.is_of_rank for time in times) and not count:
            message = "{piece}: {tool} does not say how many ranks ran; give a log or a table that does"
            notes.append(Sentence(message, piece=Path(piece).name, tool=tool))
        else:
            sizes = [time.nbytes * {True: count, False: 1}[time.is_of_rank] for time in times]
            yield MeasuredTable(collective, sizes, [time.seconds for time in times], count, piece)
