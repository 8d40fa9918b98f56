"""A few published runs over the kinds of machine, each with its source, to hold a prediction against.

`published_runs.json` holds facts only: for each run its machine in the words that `machine_words` reads, and some of
the sizes and out-of-place times that its owners printed. `plain` are the words of the same machine where nothing was
switched off or pinned: predict with those, and the run has a gap that `gaps.explain` should explain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...errors import CollsimError, describe_unknown
from ...errors.arguments import check_arguments, check_call
from ...package_data import read_package_file
from ...topology import Topology
from ..machine.machine_facts import Facts
from ..machine.machine_words import parse_facts
from ..machine.topology_facts import read_facts
from ..model.links import MEASURED, LinkParameters
from ..nccl_environment import PredictOptions
from ..nccl_prediction import BUSBW, Prediction, parse_collective, predict
from .log_evidence import JobLog, weigh_log

if TYPE_CHECKING:
    import pandas as pd

_AUTO = ("", "auto", "n/a")


@dataclass(frozen=True)
class MeasuredRun:
    """Times of one collective on one machine, and what is known of the machine.

    Attributes:
        name: for addresses and code.
        title: for people, (English, Chinese).
        collective: collsim's name of it.
        facts: the machine.
        settings: NCCL's environment variables that were set, as `predict` takes them.
        nbytes: nccl-tests' sizes, rising.
        times: seconds, out of place.
        plain_run: the same run on the machine as it would be described by who knows none of its settings; None where
            that is the same.
        table_words: the words of a table of runs that describe it, by column.
        source: where it was published.
        year: of the publication.
        stated: of `p2p`, `gdr` and `net` those that somebody said, which no hypothesis of `explain` contradicts; None:
            what the facts deny is taken as said (no P2P, no GPUDirect RDMA, TCP), and GPUDirect RDMA where it is known.
        confirmed: keys of hypotheses of `explain_gap` that a log of the run states.
        excluded: keys of those that it rules out.
        machine: the Topology, where it is known, whose links then give the times; None: the facts do.

    Examples:
        >>> import collsim as cs
        >>> run = cs.nccl.get_published_run("a100-8")
        >>> run.collective, run.facts.ranks, run.nbytes[:3]
        ('allreduce', 8, (96, 384, 1536))
    """

    name: str
    title: tuple[str, str]
    collective: str
    facts: Facts
    nbytes: tuple[int, ...]
    times: tuple[float, ...]
    settings: tuple[tuple[str, str], ...] = ()
    plain_run: MeasuredRun | None = None
    table_words: tuple[tuple[str, str], ...] = ()
    source: str = ""
    year: int = 0
    stated: frozenset[str] | None = None
    confirmed: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    machine: Topology | None = field(default=None, compare=False, repr=False)

    @property
    def stated_facts(self) -> frozenset[str]:
        """What somebody stated of this machine."""
        if self.stated is None:
            return _list_implied(self.facts)
        return self.stated

    def __post_init__(self) -> None:
        if not self.nbytes or len(self.nbytes) != len(self.times):
            message = "{name}: {sizes} sizes and {times} times; give as many of each, and at least one"
            raise CollsimError(message, name=self.name, sizes=len(self.nbytes), times=len(self.times))
        if min(self.nbytes) <= 0 or not all(np.isfinite(t) and t > 0 for t in self.times):
            raise CollsimError("{name}: sizes and times must be positive", name=self.name)

    @check_call
    def predict_sizes(self, links: LinkParameters = MEASURED, **settings: Unpack[PredictOptions]) -> list[Prediction]:
        """The prediction of every size. `settings`: NCCL_ALGO ... instead of the run's own.

        Args:
            links: Rates and latencies of the links; the measured ones if not given.
            settings: NCCL_ALGO ... of `predict`; each replaces what the run was measured with.
        """
        chosen: dict[str, Any] = {**dict(self.settings), **settings}
        machine = self.machine or self.facts
        return [predict(self.collective, machine, n, self.facts.ranks, links=links, **chosen) for n in self.nbytes]


@check_arguments
@cache
def load_published_runs() -> Mapping[str, MeasuredRun]:
    """The runs that come with collsim, by name.

    Returns:
        A read-only mapping.

    Examples:
        >>> import collsim as cs
        >>> "a100-8" in cs.nccl.load_published_runs()
        True
    """
    text = read_package_file(__file__, "published_runs.json")
    return MappingProxyType({entry["name"]: _build_run(entry) for entry in json.loads(text)["runs"]})


@check_arguments
def get_published_run(name: str) -> MeasuredRun:
    """One of the runs that come with collsim.

    Args:
        name: a name of `load_published_runs()`.

    Returns:
        The run.

    Raises:
        CollsimError: For an unknown name, with the nearest known one.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.get_published_run("a100-8").facts.gpu
        'A100-SXM4-80GB'
    """
    if name not in load_published_runs():
        raise CollsimError(describe_unknown("published run", name, load_published_runs()))
    return load_published_runs()[name]


def _build_run(entry: Mapping[str, Any]) -> MeasuredRun:
    sizes, times = zip(*entry["rows"], strict=True)
    run = MeasuredRun(
        name=entry["name"],
        title=(entry["title"][0], entry["title"][1]),
        collective=entry["collective"],
        facts=_parse_entry_facts(entry),
        nbytes=sizes,
        times=tuple(t * 1e-6 for t in times),
        settings=_list_settings(entry),
        table_words=tuple(
            (k, str(entry[k])) for k in ("gpu", "ranks", "nodes", "inside", "between", "gdr", "algorithm", "protocol")
        ),
        source=entry["source"],
        year=entry["year"],
        stated=_list_stated(entry),
    )
    # Some entries have the same run with nothing set, which shows what the settings did.
    if "plain" not in entry:
        return run
    plain_entry = {**entry, **entry["plain"]}
    plain_stated = _list_stated(plain_entry) - {_SAYS[word] for word in entry["plain"] if word in _SAYS}
    return replace(
        run,
        plain_run=replace(
            run, facts=_parse_entry_facts(plain_entry), settings=_list_settings(plain_entry), stated=plain_stated
        ),
    )


#: What a word of a table states.
_SAYS = {"inside": "p2p", "gdr": "gdr", "between": "net"}


def _list_stated(entry: Mapping[str, Any]) -> frozenset[str]:
    """What the words of a table state."""
    stated = {"p2p": "p2p" in entry["inside"], "gdr": entry["gdr"] in ("yes", "no"), "net": entry["between"] != "none"}
    return frozenset(name for name, there in stated.items() if there) | _list_implied(_parse_entry_facts(entry))


def _list_implied(facts: Facts) -> frozenset[str]:
    """What facts of a machine can only say where somebody said it: that something is off, or that GPUDirect RDMA is
    known."""
    implied = {"p2p": facts.wiring == "host", "gdr": facts.gdr is not None, "net": facts.net == "tcp"}
    return frozenset(name for name, there in implied.items() if there)


def _list_stated_of_machine(machine: Facts | Topology, facts: Facts) -> frozenset[str]:
    """What was stated of a machine: switches that were given, a card that was chosen, and what its GPUs cannot do."""
    if not isinstance(machine, Topology):
        return _list_implied(facts)
    node, options = machine.facts.machine, machine.facts.options
    staged = facts.wiring == "host" and node is not None and not node.p2p_over_pcie
    stated = {"p2p": "p2p" in options or staged, "gdr": "gdr" in options, "net": "nic" in options or facts.net == "tcp"}
    return frozenset(name for name, there in stated.items() if there)


def _parse_entry_facts(entry: Mapping[str, Any]) -> Facts:
    return parse_facts(entry["gpu"], entry["ranks"], entry["nodes"], entry["inside"], entry["between"], entry["gdr"])


def _list_settings(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    pinned = (("NCCL_ALGO", entry["algorithm"]), ("NCCL_PROTO", entry["protocol"]))
    return tuple((name, value) for name, value in pinned if value.lower() not in _AUTO)


@check_arguments
def create_run(
    collective: str,
    machine: Facts | Topology,
    nbytes: Sequence[int],
    times: Sequence[float],
    ranks: int | None = None,
    *,
    version: str | None = None,
    unsure: Sequence[str] = (),
    log: JobLog | None = None,
) -> MeasuredRun:
    """Measured times of your own as a Run: sizes in bytes, times in seconds, of `collective` on `machine`.

    Sizes of 0 are left out; a size that occurs several times keeps its median.

    Args:
        collective: what was measured.
        machine: where it was measured.
        nbytes: nccl-tests' sizes, bytes.
        times: seconds, one for each size.
        ranks: that took part; None: all of the machine.
        version: of NCCL, as `predict` takes it.
        unsure: of `p2p`, `gdr` and `net` what is a guess and may be contradicted by `explain`, though the machine says
            it.
        log: of NCCL about the same job (`cs.load("nccl.log")`): what it states is a fact to `explain_gap`, and what it
            rules out is not named.

    Returns:
        The run, which `compare_run` and `explain_gap` take.

    Raises:
        CollsimError: Where nothing is left, and for unknown names.

    Examples:
        >>> import collsim as cs
        >>> run = cs.nccl.create_run("allreduce", cs.machine("dgx-a100"), [2**26, 2**20], [6e-4, 5e-5])
        >>> run.nbytes
        (1048576, 67108864)
    """
    name = parse_collective(collective)
    sizes, medians = _take_medians(nbytes, times)
    seen = read_facts(machine, ranks)
    if strange := set(unsure) - set(_SAYS.values()):
        raise CollsimError(describe_unknown("fact to be unsure of", sorted(strange)[0], _SAYS.values()))
    settings = () if not version else (("version", version),)
    stated = _list_stated_of_machine(machine, seen) - set(unsure)
    run = MeasuredRun("own", ("your own", "自己的数据"), name, seen, sizes, medians, settings, stated=stated)
    if isinstance(machine, Topology):  # what a file left open does not matter to a comparison
        run = replace(run, machine=replace(machine, facts=replace(machine.facts, assumptions=())))
    if log is None:
        return run
    evidence = weigh_log(log, seen)
    settings = (*settings, *evidence.settings)
    return replace(run, settings=settings, confirmed=evidence.confirmed, excluded=evidence.excluded)


def _take_medians(nbytes: Sequence[int], times: Sequence[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Sizes in order, and the median time of each."""
    by_size: dict[int, list[float]] = {}
    for size, seconds in zip(nbytes, times, strict=True):
        if size > 0 and seconds > 0 and np.isfinite(seconds):
            by_size.setdefault(int(size), []).append(float(seconds))
    if not by_size:
        raise CollsimError("no row has a positive size and time")
    sizes = tuple(sorted(by_size))
    return sizes, tuple(float(np.median(by_size[size])) for size in sizes)


@check_arguments
def compare_run(run: MeasuredRun, links: LinkParameters = MEASURED) -> pd.DataFrame:
    """Measured and predicted, a row per size.

    Columns: nbytes; time, predicted, low, high, tuner (seconds; four in five measurements lie between low and high;
    tuner is NaN where NCCL has no opinion); busbw, predicted_busbw, low_busbw, high_busbw, tuner_busbw (B/s); ratio
    (predicted over measured time); algorithm, protocol, limit (the tightest link).

    Args:
        run: of `create_run`, or a published one.
        links: what links carry; collsim's own figures unless given.

    Returns:
        The table.

    Raises:
        CollsimError: Where the run cannot be predicted.

    Examples:
        >>> import collsim as cs
        >>> table = cs.nccl.compare_run(cs.nccl.get_published_run("a100-8"))
        >>> bool(((table.low < table.time) & (table.time < table.high)).mean() > 0.5)
        True
    """
    from ...errors.dependencies import pandas as pd

    factor = BUSBW[run.collective](run.facts.ranks)
    rows = []
    for n, seconds, p in zip(run.nbytes, run.times, run.predict_sizes(links), strict=True):
        # Where NCCL would not run this, its own model has no time for it.
        believed = np.nan
        if p.tuner_time is not None:
            believed = p.tuner_time
        busbw = {
            "busbw": factor * n / seconds,
            "predicted_busbw": factor * n / p.time,
            "low_busbw": factor * n / p.high,
            "high_busbw": factor * n / p.low,
            "tuner_busbw": factor * n / believed,
        }
        chosen = {"algorithm": p.algorithm, "protocol": p.protocol, "limit": p.parts.limit}
        rows.append(
            {
                "nbytes": n,
                "time": seconds,
                "predicted": p.time,
                "low": p.low,
                "high": p.high,
                "tuner": believed,
                **busbw,
                "ratio": p.time / seconds,
                **chosen,
            }
        )
    return pd.DataFrame(rows)


@check_arguments
def compare_published_runs(runs: Iterable[MeasuredRun] | None = None) -> pd.DataFrame:
    """`compare_run` of many runs under one another, with the columns run, title, title_zh in front.

    Args:
        runs: None: all published ones.

    Returns:
        The table.

    Raises:
        CollsimError: For no runs, and as `compare_run`.

    Examples:
        >>> import collsim as cs
        >>> runs = [cs.nccl.get_published_run(name) for name in ("a100-8", "h100-8-ring")]
        >>> table = cs.nccl.compare_published_runs(runs)
        >>> table.run.unique().tolist()
        ['a100-8', 'h100-8-ring']
    """
    from ...errors.dependencies import pandas as pd

    if runs is None:
        runs = load_published_runs().values()
    parts = [compare_run(run).assign(run=run.name, title=run.title[0], title_zh=run.title[1]) for run in runs]
    if not parts:
        raise CollsimError("give at least one run")
    return pd.concat(parts, ignore_index=True)
