"""What the Measured page shows, as a value: which run, what the model is told of it, and its address; a log of one's
own as a run."""

from __future__ import annotations

import re
import tempfile
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
from collsim.io import formats, save
from collsim.nccl import (
    Gap,
    MeasuredRun,
    calibrate,
    compare_run,
    create_run,
    explain_gap,
    get_published_run,
    load_published_runs,
    predict,
    read_facts,
)
from collsim.nccl.model.relative_error import compute_relative_error
from collsim.nccl.model.releases import NEWEST, OLDEST

from ...jobs.worker import ReportProgress
from ...scenario.address import Complaint, PageAddress, Word, shortened
from ...scenario.choice import MOST_NODES, count, flag, one_of
from ...scenario.outcome import Refused, quietly
from . import nccl_log, osu
from .reading import loaded

OWN = "own"
#: Rows of a log that are looked at; more would be no sweep of sizes.
MOST_ROWS = 2_000
#: Ranks of an OSU log.
MOST_MPI = 100_000
#: Characters of a log in which it says who ran.
_HEAD = 200_000
#: The run that the sample log is made of, and where it ran.
SAMPLE, SAMPLE_MACHINE = "a100-2x4-tcp", "polaris"
#: What a log of each format is called in a file of its own.
_FILES = {"nccl-tests": "nccl-tests.txt", "nccl-tests-json": "nccl-tests.json"}

#: NCCL's versions, the newest first.
VERSIONS = tuple(f"2.{minor}" for minor in range(NEWEST, OLDEST - 1, -1))
#: How a log says which NCCL ran: NCCL_DEBUG=VERSION, nccl-tests' own lines, and its JSON (22807 is 2.28.7).
_VERSION = re.compile(r"NCCL version 2\.(\d{1,2})\b|(?:nccl-library=|\"nccl_version\":\s{0,9})2(\d\d)\d\d\b", re.ASCII)
_HOST = re.compile(
    r"#\s+Rank\s+\d{1,7}\s.{0,80}?\bon\s+(\S{1,80})\s+device\s+\d+\s+\[[^\]]{0,40}\]\s*(.{0,80})", re.ASCII
)


@dataclass(frozen=True)
class Selection:
    """What is on the page.

    Attributes:
        run: name of a published run, or `own`. plain: the model is told the machine only, not its settings.
        text: a log of one's own (not part of the address). table: which of its tables. collective: what it ran, where
        it does not say. machine, nodes, p2p, gdr: where it ran, as the reader says. ranks: of an OSU log, which does
        not say; 0 is one per GPU. version: of NCCL, "2.18"; "" where nobody says.
    """

    run: str = "a100-2x8-ib"
    plain: bool = False
    text: str = ""
    table: int = 0
    collective: str = ""
    machine: str = "dgx-a100"
    nodes: int = 1
    p2p: bool = True
    gdr: bool = True
    ranks: int = 0
    version: str = ""

    @property
    def own(self) -> bool:
        return self.run == OWN


@cache
def machines() -> tuple[str, ...]:
    """Machines on which NCCL or RCCL runs."""
    return tuple(name for name in cs.topology.machines() if _runs(name))


def _runs(name: str) -> bool:
    try:
        read_facts(cs.machine(name))
    except CollsimError:
        return False
    return True


# ---- address -------------------------------------------------------------------------------------------------------


def _run(text: str) -> str:
    return text if text == OWN else get_published_run(text).name


def _told(text: str) -> bool:
    return one_of("way to tell the model", lambda: ("all", "plain"))(text) == "plain"


def _machine(text: str) -> str:
    if text not in machines():
        cs.machine(text)  # says which there are
        raise CollsimError("{text} has no GPU that NCCL or RCCL runs on", text=text)
    return text


def _agree(found: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Selection:
    known = {word.name for word in WORDS}
    complaints += [Complaint(shortened(k), shortened(v), "unknown", "-") for k, v in query.items() if k not in known]
    return Selection(**found)


def _adapt(shown: Selection, said: dict[str, str]) -> dict[str, str]:
    """Where a log of one's own ran; of a published run only which, and whether the model is told less of it."""
    if shown.own:
        return {name: text for name, text in said.items() if name != "told"} | {
            "machine": shown.machine,
            "nodes": str(shown.nodes),
        }
    less = ("run", "told") if get_published_run(shown.run).plain_run is not None else ("run",)
    return {name: text for name, text in said.items() if name in less}


WORDS = (
    Word("run", _run),
    Word("told", _told, "plain", write=lambda plain: "plain" if plain else "all"),
    Word("machine", _machine),
    Word("nodes", count("nodes", MOST_NODES)),
    Word("p2p", flag),
    Word("gdr", flag),
    Word("ranks", count("ranks", MOST_MPI)),
    Word("version", one_of("version of NCCL", lambda: VERSIONS)),
)
ADDRESS = PageAddress(Selection(), WORDS, _agree, _adapt)


# ---- runs


def run_of(shown: Selection) -> MeasuredRun:
    """The run to predict. Raises CollsimError for a log that cannot be read or does not fit the machine."""
    if not shown.own:
        run = get_published_run(shown.run)
        return run.plain_run if shown.plain and run.plain_run is not None else run
    rows = _table(read_log(shown.text), shown)
    collective, ranks = _ran(rows, shown)
    if not collective:
        raise Refused("measured.nocollective")
    place = place_of(shown)
    if ranks is not None and ranks > place.ranks:
        raise Refused("measured.manyranks", ranks=ranks, gpus=place.ranks)
    if not ((rows["nbytes"] > 0) & (rows["time"] > 0)).any():
        raise Refused("measured.notimes")
    times = rows["nbytes"].tolist(), rows["time"].tolist()
    return create_run(collective, place, *times, ranks, version=shown.version)


def _ran(rows: pd.DataFrame, shown: Selection) -> tuple[str, int | None]:
    """The collective of a table, empty where nobody says, and its ranks, None where the log does not say."""
    said = rows["ranks"].iloc[0]
    return rows["collective"].iloc[0] or shown.collective, None if said is None or np.isnan(float(said)) else int(said)


def place_of(shown: Selection) -> cs.Topology:
    """Where a log of one's own ran, as the reader says."""
    return cs.machine(shown.machine, nodes=shown.nodes, p2p=shown.p2p, gdr=shown.gdr or shown.nodes == 1)


def on_nccl(shown: Selection) -> bool:
    """Does NCCL run on the machine that was chosen, whose versions count, and not RCCL?"""
    return not read_facts(cs.machine(shown.machine)).is_amd


def version_of(text: str) -> str:
    """The version of NCCL that a log names, "" where it names none that is known."""
    found = _VERSION.search(text[:_HEAD])
    said = "" if found is None else f"2.{int(found[1] or found[2])}"
    return said if said in VERSIONS else ""


def release_of(run: MeasuredRun, shown: Selection) -> Sentence:
    """What the version means for the prediction, or which was assumed."""
    return predict(run.collective, run.facts, run.nbytes[0], version=shown.version).release


def prepared(shown: Selection, report_progress: ReportProgress = quietly) -> tuple[MeasuredRun, pd.DataFrame, Gap]:
    """A run, its prediction and gap. Raises CollsimError for a log that cannot be read or does not fit the machine."""
    run = run_of(shown)
    table = compare_run(run)
    report_progress("run", 0.1)
    return run, table, explain_gap(run)


def expected_prepared(shown: Selection) -> float:
    """Seconds that `prepared` should take: some twenty predictions for every row, and NCCL's search on a machine of
    links."""
    return 0.1 if not shown.own else 0.5 + 0.005 * min(shown.text.count("\n"), MOST_ROWS)


@dataclass(frozen=True)
class Fitted:
    """A calibration to a log, as the page shows it.

    Attributes:
        yaml: the machine with it, as `load_topology` reads it.
        factors: knob -> factor. unknown: knobs that the log says nothing about. links: kind -> (share of nominal,
        seconds to cross). rows: a row per measurement: collective, nbytes, measured, before and after (seconds as
        predicted without and with it). before, after, held_out: median relative errors without it, with it, and at
        sizes left out of the fit (None: too few).
    """

    yaml: str
    factors: Mapping[str, float]
    unknown: tuple[str, ...]
    links: Mapping[str, tuple[float, float]]
    rows: pd.DataFrame
    before: float
    after: float
    held_out: float | None


def fitted(shown: Selection, report_progress: ReportProgress = quietly) -> Fitted:
    """Calibrate the machine to all tables of a log. Raises CollsimError for a log that cannot be read, or has too
    little."""
    log = read_log(shown.text)
    log = log[(log["time"] > 0) & (log["nbytes"] > 0)].head(MOST_ROWS)
    if shown.collective:
        log = log.assign(collective=log["collective"].fillna(shown.collective))
    if log["collective"].isna().any():
        raise Refused("measured.nocollective")
    place = place_of(shown)
    if (log["ranks"].fillna(0) > place.ranks).any():
        raise Refused("measured.manyranks", ranks=int(log["ranks"].max()), gpus=place.ranks)
    report_progress("run", 0.1)
    found = calibrate(log, place)
    assert isinstance(found.machine, cs.Topology)  # as the machine that was given
    report_progress("run", 0.9)
    ranks = [None if count != count or count is None else int(count) for count in log["ranks"]]
    calls = list(zip(log["collective"], log["nbytes"], ranks, strict=True))
    rows = found.residuals.rename(columns={"predicted": "after"}).assign(
        before=[predict(c, place, int(n), r).time for c, n, r in calls]
    )
    before = float(compute_relative_error(rows["before"] / rows["measured"]).median())
    links = {kind: (f.carries, f.alpha) for kind, f in found.measured.links.items()}
    return Fitted(
        found.machine.to_yaml(),
        dict(found.factors),
        found.unknown_knobs,
        links,
        rows,
        before,
        found.error,
        found.held_out,
    )


def expected_fitted(shown: Selection) -> float:
    """Seconds that `fitted` should take: three fits, of all rows and of each half of the sizes."""
    return 0.5 + 0.015 * min(shown.text.count("\n"), MOST_ROWS)


def _table(log: pd.DataFrame, shown: Selection) -> pd.DataFrame:
    """The rows of the table that is shown."""
    numbers = sorted(log["table"].unique())
    rows: pd.DataFrame = log[log["table"] == numbers[min(shown.table, len(numbers) - 1)]].head(MOST_ROWS)
    return rows


def ranks_of(shown: Selection) -> int:
    """Ranks of an OSU log: as said, else one per GPU."""
    return shown.ranks or cs.machine(shown.machine, nodes=shown.nodes).ranks


def over_mpi(shown: Selection) -> tuple[pd.DataFrame, osu.Case]:
    """An OSU log beside the MPI model. Raises CollsimError for a log that cannot be read or a collective that is not
    modelled."""
    place = cs.machine(shown.machine, nodes=shown.nodes)
    ranks = ranks_of(shown)
    rows = _table(osu.read(shown.text, ranks), shown)
    case = osu.case_of(rows, shown.text, read_facts(place), ranks, shown.collective)
    return osu.against(rows, case), case


def read_log(text: str) -> pd.DataFrame:
    """The rows of an nccl-tests log, text or JSON, or of an OSU log."""
    if osu.looks(text):
        return osu.read(text, 2)
    kind = _kind(text)
    if kind == "nccl-tests" and not formats()[kind].looks(text):
        raise Refused("measured.nolog")
    table: pd.DataFrame = loaded(text, _FILES[kind], format=kind)
    return table


def _kind(text: str) -> str:
    """Which of nccl-tests' formats it is."""
    return "nccl-tests-json" if text.lstrip().startswith("{") else "nccl-tests"


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


def guessed(text: str, shown: Selection) -> Selection:
    """Machine and number of nodes as far as the log's lines of devices or communicators tell; the reader may know
    better."""
    shown = replace(shown, version=version_of(text))
    if nccl_log.looks(text):
        with suppress(CollsimError):  # the page says what is wrong with it
            shown = replace(shown, nodes=min(nccl_log.job_of(text).nodes or shown.nodes, MOST_NODES))
        return shown
    found = [m for line in text.splitlines()[:4000] if (m := _HOST.match(line.strip()[:400])) is not None]
    if not found:
        return shown
    hosts, gpu = {m[1] for m in found}, found[0][2].upper()
    local, card = -(-len(found) // len(hosts)), "PCI" in gpu or "RTX" in gpu
    for name in machines():
        facts = read_facts(cs.machine(name))
        if facts.gpu.upper().removesuffix(" PCIE") in gpu and facts.is_pcie_card == card and facts.ranks >= local:
            return replace(shown, machine=name, nodes=min(len(hosts), MOST_NODES))
    return replace(shown, nodes=min(len(hosts), MOST_NODES))


def python_of(shown: Selection) -> str:
    """The same study as a script."""
    if shown.own:
        made = _own_python(shown)
    else:
        made = f'run = nccl.get_published_run("{shown.run}")' + (
            ".plain_run" if shown.plain and load_published_runs()[shown.run].plain_run else ""
        )
    return (
        "import collsim as cs\nfrom collsim import nccl\nfrom collsim.viz import nccl_plots\n\n"
        f"{made}\nprint(nccl.explain_gap(run))\nnccl_plots.curve(nccl.compare_run(run))\n"
        "nccl_plots.residuals(nccl.compare_runs())  # all published runs\n"
    )


def _own_python(shown: Selection) -> str:
    """How a log of one's own becomes the run that is shown."""
    log = read_log(shown.text)
    rows = _table(log, shown)
    collective, ranks = _ran(rows, shown)
    kind = _kind(shown.text)
    switches = "" if shown.p2p else ", p2p=False"
    switches += "" if shown.gdr or shown.nodes == 1 else ", gdr=False"
    lines = [f'table = cs.load("{_FILES[kind]}", format="{kind}")']
    if log["table"].nunique() > 1:
        lines.append(f'table = table[table["table"] == {int(rows["table"].iloc[0])}]')
    lines.append(f'machine = cs.machine("{shown.machine}", nodes={shown.nodes}{switches})')
    count = "" if ranks is None else f", ranks={ranks}"
    count += f', version="{shown.version}"' if shown.version else ""
    lines.append(f'run = nccl.create_run("{collective}", machine, table["nbytes"], table["time"]{count})')
    return "\n".join(lines)


def text_of(value: Any) -> str:
    """Text of an uploaded file; bytes that are no text are left for the reader to name."""
    return bytes(value).decode("utf-8-sig", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
