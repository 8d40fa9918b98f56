"""What the Measured page shows, as a value: which run, what the model knows of it, and its address; a user's log as a
run."""

from __future__ import annotations

import re
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import collsim as cs
from collsim.errors import CollsimError, Sentence
from collsim.files import MAX_BYTES, find_encoding
from collsim.io import formats, save
from collsim.nccl import (
    Gap,
    MeasuredRun,
    Prediction,
    compare_run,
    create_run,
    explain_gap,
    fit_calibration,
    get_published_run,
    load_published_runs,
    predict,
    read_facts,
)
from collsim.nccl.model.relative_error import compute_relative_error
from collsim.nccl.model.releases import NEWEST, OLDEST

from ...jobs.job_spec import job, report_progress
from ...scenario.address_parameters import PageAddress, declare_word, list_words
from ...scenario.choice import MAX_NODES, count, create_name_reader, read_flag
from ...scenario.outcome import Refused
from . import nccl_log_comparison, osu_comparison
from .pasted_log import load_log

OWN = "own"
#: Rows of a log that are looked at; more would be no sweep of sizes.
MAX_ROWS = 2_000
#: Ranks of an OSU log.
MAX_MPI_RANKS = 100_000
#: Characters of a log in which it says who ran.
_HEAD = 200_000
#: The run that the sample log is made of, and where it ran.
SAMPLE, SAMPLE_MACHINE = "a100-2x4-tcp", "polaris"
#: What a log of each format is called in a file of its own.
_FILES = {"nccl-tests": "nccl-tests.txt", "nccl-tests-json": "nccl-tests.json", "torch-profiler": "trace.json"}

#: NCCL's versions, the newest first.
VERSIONS = tuple(f"2.{minor}" for minor in range(NEWEST, OLDEST - 1, -1))
#: How a log says which NCCL ran: NCCL_DEBUG=VERSION, nccl-tests' own lines, and its JSON (22807 is 2.28.7).
_VERSION = re.compile(r"NCCL version 2\.(\d{1,2})\b|(?:nccl-library=|\"nccl_version\":\s{0,9})2(\d\d)\d\d\b", re.ASCII)
_HOST = re.compile(
    r"#\s+Rank\s+\d{1,7}\s.{0,80}?\bon\s+(\S{1,80})\s+device\s+\d+\s+\[[^\]]{0,40}\]\s*(.{0,80})", re.ASCII
)


@cache
def list_machines() -> tuple[str, ...]:
    """Machines on which NCCL or RCCL runs."""
    return tuple(name for name in cs.machines() if _has_nccl_facts(name))


def _has_nccl_facts(name: str) -> bool:
    try:
        read_facts(cs.machine(name))
    except CollsimError:
        return False
    return True


def _read_run(text: str) -> str:
    if text == OWN:
        return text
    return get_published_run(text).name


def _read_told(text: str) -> bool:
    return create_name_reader("way to tell the model", lambda: ("all", "plain"))(text) == "plain"


def _read_machine(text: str) -> str:
    if text not in list_machines():
        cs.machine(text)  # says which there are
        raise CollsimError("{text} has no GPU that NCCL or RCCL runs on", text=text)
    return text


@dataclass(frozen=True)
class Selection:
    """What is on the page.

    Attributes:
        run: name of a published run, or `own`.
        plain: the model is told the machine only, not its settings.
        text: a log of one's own (not part of the address).
        table: which of its tables.
        collective: what it ran, where it does not say.
        machine, nodes, p2p, gdr: where it ran, as the reader says.
        ranks: of an OSU log, which does not say; 0 is one per GPU.
        version: of NCCL, "2.18"; "" where nobody says.
    """

    run: str = declare_word("a100-2x8-ib", _read_run)
    plain: bool = declare_word(False, _read_told, "told", write={True: "plain", False: "all"}.__getitem__)
    text: str = ""
    table: int = 0
    collective: str = ""
    machine: str = declare_word("dgx-a100", _read_machine)
    nodes: int = declare_word(1, count("nodes", MAX_NODES))
    p2p: bool = declare_word(True, read_flag)
    gdr: bool = declare_word(True, read_flag)
    ranks: int = declare_word(0, count("ranks", MAX_MPI_RANKS))
    version: str = declare_word("", create_name_reader("version of NCCL", lambda: VERSIONS))

    @property
    def has_own_log(self) -> bool:
        return self.run == OWN


# ---- address -------------------------------------------------------------------------------------------------------


def _adapt_address(selection: Selection, query: dict[str, str]) -> dict[str, str]:
    """Where a log of one's own ran; of a published run only which, and whether the model is told less of it."""
    if selection.has_own_log:
        return {name: text for name, text in query.items() if name != "told"} | {
            "machine": selection.machine,
            "nodes": str(selection.nodes),
        }
    names = ["run"]
    if get_published_run(selection.run).plain_run is not None:
        names.append("told")
    return {name: text for name, text in query.items() if name in names}


ADDRESS = PageAddress(Selection(), list_words(Selection), adapt=_adapt_address)


# ---- runs


def load_selected_run(selection: Selection) -> MeasuredRun:
    """The run to predict.

    Args:
        selection: The run that is chosen on the page Measured.

    Raises:
        CollsimError: for a log that cannot be read or does not fit the machine
    """
    if not selection.has_own_log:
        run = get_published_run(selection.run)
        if selection.plain and run.plain_run is not None:
            return run.plain_run
        return run
    rows = _select_table(read_log(selection.text), selection)
    collective, ranks = _find_collective(rows, selection)
    if not collective:
        raise Refused("measured.nocollective")
    topology = build_topology(selection)
    if ranks is not None and ranks > topology.ranks:
        raise Refused("measured.manyranks", ranks=ranks, gpus=topology.ranks)
    if not ((rows["nbytes"] > 0) & (rows["time"] > 0)).any():
        raise Refused("measured.notimes")
    times = rows["nbytes"].tolist(), rows["time"].tolist()
    return create_run(collective, topology, *times, ranks, version=selection.version)


def _find_collective(rows: pd.DataFrame, selection: Selection) -> tuple[str, int | None]:
    """The collective of a table, empty where nobody says, and its ranks, None where the log does not say."""
    ranks = rows["ranks"].iloc[0]
    collective = rows["collective"].iloc[0] or selection.collective
    if ranks is None or np.isnan(float(ranks)):
        return collective, None
    return collective, int(ranks)


def build_topology(selection: Selection) -> cs.Topology:
    """Where a log of one's own ran, as the reader says.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    return cs.machine(
        selection.machine, nodes=selection.nodes, p2p=selection.p2p, gdr=selection.gdr or selection.nodes == 1
    )


def runs_on_nccl(selection: Selection) -> bool:
    """Does NCCL run on the machine that was chosen, whose versions count, and not RCCL?

    Args:
        selection: The run that is chosen on the page Measured.
    """
    return not read_facts(cs.machine(selection.machine)).is_amd


def extract_version(text: str) -> str:
    """The version of NCCL that a log names, "" where it names none that is known.

    Args:
        text: The text.
    """
    match = _VERSION.search(text[:_HEAD])
    version = ""
    if match is not None:
        version = f"2.{int(match[1] or match[2])}"
    if version in VERSIONS:
        return version
    return ""


def describe_release(run: MeasuredRun, selection: Selection) -> Sentence:
    """What the version means for the prediction, or which was assumed.

    Args:
        run: The measured run.
        selection: The run that is chosen on the page Measured.
    """
    return predict(run.collective, run.facts, run.nbytes[0], version=selection.version).release


def predict_largest_size(run: MeasuredRun) -> Prediction:
    """The prediction of the largest size of a run, with its settings.

    Args:
        run: The measured run.
    """
    (prediction,) = replace(run, nbytes=run.nbytes[-1:], times=run.times[-1:]).predict_sizes()
    return prediction


def estimate_comparison(selection: Selection) -> float:
    """Seconds that `compare_with_model` should take: some twenty predictions for every row, and NCCL's search on a
    machine of links.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    if not selection.has_own_log:
        return 0.1
    return 0.5 + 0.005 * min(selection.text.count("\n"), MAX_ROWS)


@job(estimate_comparison)
def compare_with_model(selection: Selection) -> tuple[MeasuredRun, pd.DataFrame, Gap]:
    """A run, its prediction and gap.

    Args:
        selection: The run that is chosen on the page Measured.

    Raises:
        CollsimError: for a log that cannot be read or does not fit the machine
    """
    run = load_selected_run(selection)
    table = compare_run(run)
    report_progress("run", 0.1)
    return run, table, explain_gap(run)


@dataclass(frozen=True)
class Fitted:
    """A calibration to a log, as the page shows it.

    Attributes:
        yaml: the machine with it, as `load_topology` reads it.
        factors: knob -> factor.
        unknown: knobs that the log says nothing about.
        links: kind -> (share of nominal, seconds to cross).
        rows: a row per measurement: collective, nbytes, measured, before and after (seconds as predicted without and
            with it).
        before, after, held_out: median relative errors without it, with it, and at sizes left out of the fit (None: too
            few).
    """

    yaml: str
    factors: Mapping[str, float]
    unknown: tuple[str, ...]
    links: Mapping[str, tuple[float, float]]
    rows: pd.DataFrame
    before: float
    after: float
    held_out: float | None


# Three fits: of all rows and of each half of the sizes.
@job(lambda selection: 0.5 + 0.015 * min(selection.text.count("\n"), MAX_ROWS))
def fit_machine(selection: Selection) -> Fitted:
    """Calibrate the machine to all tables of a log.

    Args:
        selection: The run that is chosen on the page Measured.

    Raises:
        CollsimError: for a log that cannot be read, or has too little
    """
    log = read_log(selection.text)
    log = log[(log["time"] > 0) & (log["nbytes"] > 0)].head(MAX_ROWS)
    if selection.collective:
        log = log.assign(collective=log["collective"].fillna(selection.collective))
    if log["collective"].isna().any():
        raise Refused("measured.nocollective")
    topology = build_topology(selection)
    if (log["ranks"].fillna(0) > topology.ranks).any():
        raise Refused("measured.manyranks", ranks=int(log["ranks"].max()), gpus=topology.ranks)
    report_progress("run", 0.1)
    calibration = fit_calibration(log, topology)
    assert isinstance(calibration.machine, cs.Topology)  # as the machine that was given
    report_progress("run", 0.9)
    ranks = [None if count != count or count is None else int(count) for count in log["ranks"]]
    calls = list(zip(log["collective"], log["nbytes"], ranks, strict=True))
    rows = calibration.residuals.rename(columns={"predicted": "after"}).assign(
        before=[predict(c, topology, int(n), r).time for c, n, r in calls]
    )
    before = float(compute_relative_error(rows["before"] / rows["measured"]).median())
    links = {kind: (f.carries, f.alpha) for kind, f in calibration.measured.links.items()}
    return Fitted(
        calibration.machine.to_yaml(),
        dict(calibration.factors),
        calibration.unknown_knobs,
        links,
        rows,
        before,
        calibration.error,
        calibration.held_out,
    )


def _select_table(log: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    """The rows of the table that is shown."""
    numbers = sorted(log["table"].unique())
    rows: pd.DataFrame = log[log["table"] == numbers[min(selection.table, len(numbers) - 1)]].head(MAX_ROWS)
    return rows


def count_ranks(selection: Selection) -> int:
    """Ranks of an OSU log: as said, else one per GPU.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    return selection.ranks or cs.machine(selection.machine, nodes=selection.nodes).ranks


def compare_with_mpi(selection: Selection) -> tuple[pd.DataFrame, osu_comparison.Case]:
    """An OSU log beside the MPI model.

    Args:
        selection: The run that is chosen on the page Measured.

    Raises:
        CollsimError: for a log that cannot be read or a collective that is not modelled
    """
    topology = cs.machine(selection.machine, nodes=selection.nodes)
    ranks = count_ranks(selection)
    rows = _select_table(osu_comparison.read_osu_table(selection.text, ranks), selection)
    ranks = int(rows["ranks"].iloc[0])  # as IMB prints it
    case = osu_comparison.build_case(rows, selection.text, read_facts(topology), ranks, selection.collective)
    if not selection.gdr:
        case = replace(case, gdr="no")
    return osu_comparison.compare_with_model(rows, case), case


def read_log(text: str) -> pd.DataFrame:
    """The rows of an nccl-tests log, text or JSON, of an OSU log, or of a trace of PyTorch's profiler.

    Args:
        text: The text.
    """
    if osu_comparison.is_osu_log(text):
        return osu_comparison.read_osu_table(text, 2)
    kind = _detect_format(text)
    if kind == "nccl-tests" and not formats()[kind].looks(text):
        raise Refused("measured.nolog")
    table: pd.DataFrame = load_log(text, _FILES[kind], format=kind)
    return table


def _detect_format(text: str) -> str:
    """Which of nccl-tests' formats it is, or a trace."""
    if formats()["torch-profiler"].looks(text[:_HEAD]):
        return "torch-profiler"
    if text.lstrip().startswith("{"):
        return "nccl-tests-json"
    return "nccl-tests"


def sample() -> str:
    """A log as nccl-tests would have printed it for one of the published runs."""
    run = load_published_runs()[SAMPLE]
    table = pd.DataFrame(
        {"collective": run.collective, "ranks": run.facts.ranks, "nbytes": run.nbytes, "time": run.times}
    )
    table["count"] = table["nbytes"] // 4
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.txt"
        save(table.assign(topology="NVIDIA A100-SXM4-40GB"), path, format="nccl-tests")
        return path.read_text(encoding="utf-8")


def guess_machine(text: str, selection: Selection) -> Selection:
    """Machine and number of nodes as far as the log's lines of devices or communicators tell; the reader may know
    better.

    Args:
        text: The text.
        selection: The run that is chosen on the page Measured.
    """
    selection = replace(selection, version=extract_version(text))
    if nccl_log_comparison.is_nccl_log(text):
        with suppress(CollsimError):  # the page says what is wrong with it
            selection = replace(
                selection, nodes=min(nccl_log_comparison.read_job(text).nodes or selection.nodes, MAX_NODES)
            )
        return selection
    matches = [m for line in text.splitlines()[:4000] if (m := _HOST.match(line.strip()[:400])) is not None]
    if not matches:
        return selection
    hosts, gpu = {m[1] for m in matches}, matches[0][2].upper()
    local, card = -(-len(matches) // len(hosts)), "PCI" in gpu or "RTX" in gpu
    for name in list_machines():
        facts = read_facts(cs.machine(name))
        if facts.gpu.upper().removesuffix(" PCIE") in gpu and facts.is_pcie_card == card and facts.ranks >= local:
            return replace(selection, machine=name, nodes=min(len(hosts), MAX_NODES))
    return replace(selection, nodes=min(len(hosts), MAX_NODES))


def build_python(selection: Selection) -> str:
    """The same study as a script.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    if selection.has_own_log:
        run_code = _build_own_python(selection)
    else:
        run_code = f'run = nccl.get_published_run("{selection.run}")'
        if selection.plain and load_published_runs()[selection.run].plain_run:
            run_code += ".plain_run"
    return (
        "import collsim as cs\nfrom collsim import nccl\nfrom collsim.viz import nccl_plots\n\n"
        f"{run_code}\nprint(nccl.explain_gap(run))\nnccl_plots.curve(nccl.compare_run(run))\n"
        "nccl_plots.residuals(nccl.compare_published_runs())  # all published runs\n"
    )


def _build_own_python(selection: Selection) -> str:
    """How a log of one's own becomes the run that is shown."""
    log = read_log(selection.text)
    rows = _select_table(log, selection)
    collective, ranks = _find_collective(rows, selection)
    kind = _detect_format(selection.text)
    switches = ", p2p=False"
    if selection.p2p:
        switches = ""
    if not selection.gdr and selection.nodes > 1:
        switches += ", gdr=False"
    lines = [f'table = cs.load("{_FILES[kind]}", format="{kind}")']
    if log["table"].nunique() > 1:
        lines.append(f'table = table[table["table"] == {int(rows["table"].iloc[0])}]')
    lines.append(f'machine = cs.machine("{selection.machine}", nodes={selection.nodes}{switches})')
    count = ""
    if ranks is not None:
        count = f", ranks={ranks}"
    if selection.version:
        count += f', version="{selection.version}"'
    lines.append(f'run = nccl.create_run("{collective}", machine, table["nbytes"], table["time"]{count})')
    return "\n".join(lines)


def decode_text(value: Any) -> str:
    """Text of an uploaded file, unzipped if it is gzip; bytes that are no text are left for the reader to name.

    Args:
        value: The value.
    """
    data = bytes(value)
    if data.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MAX_BYTES)
    return data.decode(find_encoding(data), "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
