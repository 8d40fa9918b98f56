"""Why a job is slow or dies: evidence in, causes out, each with the lines that state it and what it costs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from ..errors import CollsimError, Sentence, Words, require_flags
from ..errors.arguments import check_arguments
from ..files import list_files
from ..locale import translate
from ..nccl.measured.gaps import Gap, explain_gap
from ..nccl.nccl_prediction import Prediction
from ..package_data import read_toml
from ..programs.job_records.record_files import is_job_record, load_records
from ..topology import Topology
from ..train import Model
from ..units import format_bandwidth
from .anonymity import Anonymizer
from .causes import CAUSE_BY_KEY, CAUSES, CauseRule, OpenQuestion, find_questions
from .comparison_causes import find_single_readings
from .contradictions import Contradiction, find_contradictions
from .data_path import DataPath, find_used_path, predict_path
from .diagnosis_report import Block, ReportFormat, write_document
from .evidence_pieces import Evidence, EvidencePiece, Fact, read_evidence, read_texts, require_few_pieces
from .job import ObservedJob, describe_job, name_card, predict_run
from .job_cost import JobCost, JobPredictions, predict_job
from .readers.network_tools import CardPort

Verdict = Literal["cause", "healthy", "undecided", "unknown"]

#: A measurement that takes no longer than this times the prediction is not slow (docs/accuracy.md: the median error).
_NOT_SLOWER = 1.08
#: A setting counts as a cause where the machine without it is this much faster.
_PINNED_COST = 1.15
#: Of what a job loses, the share from which on settings are a cause although something is lost besides.
_MAX_OF_LOSS = 0.5
#: A measurement this many times as fast as the prediction is of another machine, as predictions are not so far off
#: (docs/accuracy.md).
_OTHER_MACHINE = 2.0
#: Kinds of facts that say how the data moved.
_PATHS = ("nccl.network", "nccl.transport")
#: Of causes that fit alike, so many stand in the answer's sentence.
_MAX_FITTING = 3
#: Hypotheses of `explain_gap` and the causes that they are.
CAUSE_OF_HYPOTHESIS: dict[str, str] = read_toml(__file__, "job_diagnosis.toml")["causes"]
_SOURCES = {cause.key: cause.source for cause in CAUSES}


@dataclass(frozen=True)
class Cause:
    """One cause, as the evidence has it.

    Attributes:
        key: of the table of causes, such as `p2p_disabled`.
        evidence: lines that state it; empty where only the times fit.
        is_stated: whether lines state it.
        is_fault: whether it is to be fixed; else it is what limits a machine that gives what it can.
        predicted: busbw that a machine with this fault is predicted to have, B/s; None where that is not modelled.
        source: where the cause is published.
        cost: what the job gets, and could get with this cause alone fixed; None without a measured table, a machine,
            or a model of the cause.
        detail: what the records of the job say of it, in place of the cause's own sentence; None where it is that.

    Examples:
        >>> import collsim as cs
        >>> log = "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC"
        >>> diagnosis = cs.diagnose({"nccl.log": log})
        >>> cause = diagnosis.causes[0]
        >>> cause.key
        'p2p_disabled'
        >>> cause.explanation()
        'P2P is switched off by a variable, so GPUs of a node exchange data through host memory.'
    """

    key: str
    evidence: tuple[Fact, ...]
    is_stated: bool
    predicted: float | None
    source: str
    cost: JobCost | None = None
    detail: Sentence | None = None
    is_fault: bool = True

    def explanation(self, language: str = "en") -> str:
        """What is wrong, in a sentence in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        if self.detail is not None:
            return self.detail.text(language)
        return translate(language, "diagnosis", f"{self.key}.title")

    def check(self, language: str = "en") -> str:
        """The command that shows it.

        Args:
            language: `en` or `zh`.
        """
        return translate(language, "diagnosis", f"{self.key}.check")

    def fix(self, language: str = "en") -> str:
        """What fixes it, in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        return translate(language, "diagnosis", f"{self.key}.fix")


@dataclass(frozen=True)
class Diagnosis:
    """What the evidence says of a job.

    Attributes:
        verdict: `cause` where lines or times name one, `healthy`, `undecided` where several fit or more is to be asked,
            `unknown` where the evidence tells too little.
        causes: the first is the one to fix first: stated ones before those that only fit, costly ones before cheap;
            last the limits of a machine that are no faults.
        cost: what the job gets and could get; None without a measured table and a machine.
        questions: what several causes explain as well.
        ruled_out: keys of causes that a line contradicts, with the line.
        missing: keys of evidence to collect next.
        gap: prediction and measurement, as `cs.nccl.explain_gap` has them; None without them.
        machine: as the evidence describes it; None where it does not.
        pieces: what was given, and what each was recognized as.
        job: nodes, ranks, log and notes.
        used: how the data moved, as the log says; None where it does not.
        possible: how it would on the machine without a fault; None without a measured table and a machine.
        contradictions: pieces that cannot be of one job; the answer may be of neither.

    Examples:
        >>> import collsim as cs
        >>> log = "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC"
        >>> diagnosis = cs.diagnose({"nccl.log": log})
        >>> diagnosis.verdict, [cause.key for cause in diagnosis.causes]
        ('cause', ['p2p_disabled'])
    """

    verdict: Verdict
    causes: tuple[Cause, ...]
    cost: JobCost | None
    questions: tuple[OpenQuestion, ...]
    ruled_out: tuple[tuple[str, Fact], ...]
    missing: tuple[str, ...]
    gap: Gap | None
    pieces: tuple[EvidencePiece, ...]
    job: ObservedJob
    used: DataPath | None = None
    possible: DataPath | None = None
    contradictions: tuple[Contradiction, ...] = ()

    @property
    def machine(self) -> Topology | None:
        """The machine that the evidence describes."""
        return self.job.machine

    def explanation(self, language: str = "en") -> str:
        """Write the answer in a sentence or two.

        Args:
            language: `en` or `zh`.
        """
        sentences = self.list_sentences(language)
        if self.cost is not None:
            sentences.append(self.cost.text(language))
        return translate(language, "words", "sentences").join(sentences)

    def list_sentences(self, language: str = "en") -> list[str]:
        """Return the answer without what it costs: the verdict or the cause first, then what belongs to it.

        Args:
            language: `en` or `zh`.
        """
        titles = [cause.explanation(language) for cause in self.causes]
        sentences = [translate(language, "diagnosis", f"verdict.{self.verdict}")]
        if self.verdict == "cause":
            sentences = titles[:1]
            if not self.causes[0].is_stated:
                sentences.append(translate(language, "diagnosis", "only_fits"))
        elif self.verdict == "healthy":
            sentences += titles
        elif titles:
            sentences += [translate(language, "diagnosis", "several_fit"), *titles[:_MAX_FITTING]]
        return sentences + [translate(language, "diagnosis", f"{question.key}.title") for question in self.questions]

    def __str__(self) -> str:
        return self.report()

    def report(self, language: str = "en", format: ReportFormat = "markdown") -> str:
        """Write the whole as a document.

        Args:
            language: `en` or `zh`.
            format: `markdown`, or `html` with every character of the evidence escaped.
        """
        return write_document(self._write_blocks(language), format)

    def _write_blocks(self, language: str) -> list[Block]:
        def text(key: str, **values: object) -> str:
            return translate(language, "diagnosis", key, **values)

        blocks: list[Block] = [("title", text("report.title")), ("text", self.explanation(language))]
        for key, path in (("path.used", self.used), ("path.possible", self.possible)):
            if path is not None:
                blocks.append(("item", text(key, path=path.text(language))))
        for contradiction in self.contradictions:
            blocks.append(("item", contradiction.text(language)))
            blocks += [("quote", fact.quote()) for fact in contradiction.facts]
        blocks.append(("text", ""))
        for number, cause in enumerate(self.causes, 1):
            blocks.append(("heading", f"{number}. {cause.explanation(language)}"))
            if not cause.is_fault:
                blocks.append(("text", text("no_fault")))
            blocks += [("quote", fact.quote()) for fact in cause.evidence]
            if cause.predicted is not None:
                blocks.append(("text", text("report.predicted", busbw=format_bandwidth(cause.predicted))))
            # The cost of one cause alone is of interest where there are several.
            if cause.cost is not None and len(self.causes) > 1:
                blocks.append(("text", text("report.alone", busbw=format_bandwidth(cause.cost.possible))))
            blocks.append(("text", text("report.check", command=cause.check(language))))
            blocks += [("text", text("report.fix", fix=cause.fix(language))), ("text", "")]
        for question in self.questions:
            blocks.append(("heading", text(f"{question.key}.title")))
            blocks += [("quote", fact.quote()) for fact in question.facts]
            for key in question.causes:
                check = text("report.check", command=text(f"{key}.check"))
                blocks.append(("item", f"{text(f'{key}.title')} {check}"))
            blocks.append(("text", ""))
        if self.ruled_out:
            blocks.append(("heading", text("report.ruled_out")))
            blocks += [("item", f"{text(f'{key}.title')} ({fact.quote()})") for key, fact in self.ruled_out]
            blocks.append(("text", ""))
        if self.missing:
            blocks.append(("heading", text("report.missing")))
            blocks += [("item", text(f"missing.{key}")) for key in self.missing]
            blocks.append(("text", ""))
        blocks.append(("heading", text("report.pieces")))
        for piece in self.pieces:
            known = piece.describe(language) or text("report.unrecognized", line=piece.first_line)
            blocks.append(("item", f"{Path(piece.name).name}: {known}"))
        return [*blocks, *(("item", note) for note in self.list_notes(language))]

    def list_rows(self, language: str = "en") -> list[dict[str, object]]:
        """Return a row for each cause, the first to fix first.

        Args:
            language: `en` or `zh`.
        """
        return [
            {
                "cause": cause.key,
                "explanation": cause.explanation(language),
                "is_stated": cause.is_stated,
                "is_fault": cause.is_fault,
                "predicted_busbw": cause.predicted,
                "evidence": "; ".join(f"{Path(fact.piece).name}:{fact.line}" for fact in cause.evidence),
                "check": cause.check(language),
                "fix": cause.fix(language),
            }
            for cause in self.causes
        ]

    def list_notes(self, language: str = "en") -> list[str]:
        """Return what was taken for granted and what could not be used, in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        return [Sentence.from_words(note).text(language) for note in self.job.notes]

    def to_json(self) -> str:
        """Write it as one JSON document: keys are those of this class, SI units, lines with piece and number."""

        document = {
            "verdict": self.verdict,
            "explanation": self.explanation(),
            "causes": [_write_cause(cause) for cause in self.causes],
            "cost": _write_cost(self.cost),
            "used": _write_path(self.used),
            "possible": _write_path(self.possible),
            "questions": [
                {"key": question.key, "causes": question.causes, "evidence": list(map(_write_fact, question.facts))}
                for question in self.questions
            ],
            "contradictions": [
                {
                    "key": contradiction.key,
                    "explanation": contradiction.text(),
                    "evidence": list(map(_write_fact, contradiction.facts)),
                }
                for contradiction in self.contradictions
            ],
            "ruled_out": [{"key": key, "evidence": _write_fact(fact)} for key, fact in self.ruled_out],
            "missing": self.missing,
            "machine": self.machine and self.machine.name,
            "nodes": self.job.nodes,
            "ranks": self.job.ranks,
            "pieces": [{"name": Path(piece.name).name, "tools": piece.tools} for piece in self.pieces],
            "notes": [str(note) for note in self.job.notes],
        }
        return json.dumps(document, ensure_ascii=False, indent=2)


@check_arguments
def diagnose(
    *pieces: str | Path | Mapping[str, str],
    anonymize: bool = False,
    model: Model | str | None = None,
    batch: int | None = None,
) -> Diagnosis:
    """Say why a job is slow or dies, from what somebody has of it. Nothing leaves this computer.

    Args:
        *pieces: files, or folders of files, in any mixture: logs of NCCL or RCCL, tables of nccl-tests, what
            nvidia-smi, lspci, ibstat, perftest and others printed, topology files; or one mapping of texts by name.
        anonymize: replace names of hosts and people, addresses, identifiers and paths before anything is read.
        model: a Model, or a name of `cs.models()`, whose training step the cost is told for, too.
        batch: samples of that step over all GPUs; four a GPU unless given.

    Returns:
        Its `verdict` (`cause`, `healthy` or `undecided`), `causes` with the lines that state them, how to check and
        what fixes each, `cost` (busbw measured and possible, B/s), and `questions`: what to collect next.

    Raises:
        CollsimError: Nothing was given, or a file cannot be read.

    Examples:
        >>> import collsim as cs
        >>> log = "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC"
        >>> cs.diagnose({"nccl.log": log}).causes[0].key
        'p2p_disabled'
    """
    require_flags(anonymize=anonymize)
    evidence, records = _read_pieces(pieces, anonymize=anonymize)
    job = describe_job(evidence)
    gap, predicted = _explain(job), predict_run(job.run)
    prediction = _get_last(predicted)
    hang, damage = _read_hang(records, evidence)
    causes, ruled_out = _weigh_causes(evidence, job, gap, prediction)
    causes = (*hang, *causes)
    questions: tuple[OpenQuestion, ...] = ()
    # Open questions are asked only where nothing has been found: they cost the reader time.
    if not any(cause.is_fault for cause in causes):
        questions = (*find_questions(evidence), *_find_disagreements(evidence, gap, prediction))
        if not causes and not questions and gap is not None:
            causes = _list_fitting_causes(gap, {key for key, _ in ruled_out}, prediction)
    # A pinned algorithm explains the gap, so the prediction without it shows what is lost.
    if any(cause.key == "pinned_algorithm" for cause in causes) and job.run is not None:
        predicted = predict_run(replace(job.run, settings=()))
    predictions, reasons = predict_job(job.run, predicted, model, batch)
    job = replace(job, notes=(*job.notes, *damage, *reasons))
    contradictions = find_contradictions(evidence)
    return Diagnosis(
        verdict=_decide_verdict(causes, questions, gap, contradictions),
        causes=_add_costs(causes, predictions),
        cost=None if predictions is None else predictions.compute_cost(),
        questions=questions,
        ruled_out=ruled_out,
        missing=_list_missing(evidence, job),
        gap=gap,
        pieces=(*evidence.pieces, *(EvidencePiece(str(record), ("records of a hang",), "") for record in records)),
        job=job,
        used=find_used_path(evidence),
        possible=predict_path(_get_last(predicted)),
        contradictions=contradictions,
    )


def _read_pieces(pieces: Sequence[str | Path | Mapping[str, str]], *, anonymize: bool) -> tuple[Evidence, list[Path]]:
    """The evidence of texts, and the files that are records of a hang."""
    records: list[Path] = []
    notes: list[Words] = []
    if len(pieces) == 1 and isinstance(pieces[0], Mapping):
        texts = dict(pieces[0])
    else:
        named = [piece for piece in pieces if not isinstance(piece, Mapping)]
        if len(named) < len(pieces):
            raise CollsimError("diagnose: give files, or one mapping of texts by name")
        paths = list_files(named)
        require_few_pieces(len(paths))
        # Records of a hang are no text to search for facts; they are analyzed for themselves.
        records = [path for path in paths if is_job_record(path)]
        errors: list[CollsimError] = []
        texts = dict(read_texts((path for path in paths if path not in records), notes, errors))
        if errors and not texts:
            raise errors[0]
        # A file that cannot be read does not stop the diagnosis of the others.
        notes += (error.sentence for error in errors)
    if records and not texts:
        return Evidence((), {}, (), tuple(notes)), records
    if anonymize:
        anonymizer = Anonymizer(texts.values(), list(texts))
        texts, notes = anonymizer.mask_texts(texts), list(map(anonymizer.mask_words, notes))
    evidence = read_evidence(texts)
    return replace(evidence, notes=(*notes, *evidence.notes)), records


def _read_hang(records: Sequence[Path], evidence: Evidence) -> tuple[tuple[Cause, ...], list[Words]]:
    """What Flight Recorder dumps or RAS say, nothing where all ranks have launched the same; and which are damaged."""
    errors: list[CollsimError] = []
    try:
        report = records and load_records(sorted(records), errors)
    except CollsimError as error:
        if not evidence.texts:
            raise
        report, errors = None, [error]
    notes: list[Words] = [error.sentence for error in errors]
    if not report or all(finding.kind == "moving" for finding in report.findings):
        return (), notes
    source = "PyTorch Flight Recorder, NCCL RAS"
    return (Cause("stuck_collective", (), True, None, source, detail=report.reason),), notes


def _get_last(predicted: Sequence[Prediction]) -> Prediction | None:
    """The prediction of the largest size."""
    if not predicted:
        return None
    return predicted[-1]


def _explain(job: ObservedJob) -> Gap | None:
    if job.run is None:
        return None
    try:
        return explain_gap(job.run)
    except CollsimError:
        return None


def _is_slower(gap: Gap | None) -> bool:
    return gap is not None and gap.ratio < 1 / _NOT_SLOWER


def _weigh_causes(
    evidence: Evidence, job: ObservedJob, gap: Gap | None, prediction: Prediction | None
) -> tuple[tuple[Cause, ...], tuple[tuple[str, Fact], ...]]:
    causes, ruled_out = [], []
    for rule in CAUSES:
        stated = rule.find(evidence)
        against = rule.exclude(evidence)
        if against:
            ruled_out.append((rule.key, against[0]))
        elif stated and _is_limit(rule, gap):
            causes.append(Cause(rule.key, stated, True, None, rule.source, is_fault=False))
        elif stated and _is_cause_here(rule, stated, job, gap, prediction):
            busbw = _predict_busbw(rule.hypothesis, gap, prediction)
            if rule.key == "slow_port":
                busbw = _predict_port(stated, prediction) or busbw
            causes.append(Cause(rule.key, stated, True, busbw, rule.source))
    ends = [cause for cause in causes if CAUSE_BY_KEY[cause.key].ends_job]
    slows = [cause for cause in causes if not CAUSE_BY_KEY[cause.key].ends_job]
    # The lowest busbw first: it costs most.
    slows.sort(key=lambda cause: (not cause.is_fault, cause.predicted or math.inf))
    return (*ends, *slows), tuple(ruled_out)


def _is_cause_here(
    rule: CauseRule, stated: Sequence[Fact], job: ObservedJob, gap: Gap | None, prediction: Prediction | None
) -> bool:
    """Whether a stated cause is one here: not where the job is as fast as the machine is without it."""
    if rule.ends_job or any(fact.kind in rule.conclusive for fact in stated):
        return True
    if rule.key == "pinned_algorithm":
        return _is_slowed_by_settings(job, gap, prediction)
    if gap is not None and not _is_slower(gap):
        return False
    if gap is not None and gap.is_agreement and rule.hypothesis and not _changes_time(rule.hypothesis, gap):
        return False  # the machine is like that by design, and this is what it gives
    if rule.needs_gap:
        return gap is not None or any(fact.kind == "card.test" for fact in stated)
    return True


def _is_limit(rule: CauseRule, gap: Gap | None) -> bool:
    """Whether what is stated is how such machines are, and this one gives what it can: the prediction knows of it."""
    if not rule.is_by_design or gap is None or _changes_time(rule.hypothesis, gap):
        return False
    return gap.is_agreement or not _is_slower(gap)


def _changes_time(hypothesis: str, gap: Gap) -> bool:
    return any(candidate.key == hypothesis for candidate in gap.candidates)


def _is_slowed_by_settings(job: ObservedJob, gap: Gap | None, prediction: Prediction | None) -> bool:
    """Whether the machine is faster without the settings, and they are most of what it loses (on a scale of factors):
    maintainers ask for runs with NCCL_ALGO=Ring, which is then no fault."""
    if job.run is None or gap is None or prediction is None:
        return False
    try:
        free = replace(job.run, settings=()).predict_sizes()[-1]
    except CollsimError:
        return False
    cost = prediction.time / free.time
    loss = max(cost, job.run.times[-1] / free.time)
    return cost > _PINNED_COST and math.log(cost) > _MAX_OF_LOSS * math.log(loss)


def _predict_busbw(hypothesis: str, gap: Gap | None, prediction: Prediction | None) -> float | None:
    if gap is None or prediction is None:
        return None
    seconds = next((c.predicted[-1] for c in gap.candidates if c.key == hypothesis), None)
    if seconds is None:
        return None
    return prediction.busbw * prediction.time / seconds


def _predict_port(stated: Sequence[Fact], prediction: Prediction | None) -> float | None:
    """Busbw of the machine with cards of the slowest port's rate: all rings wait for it (nccl-tests issue 106). None
    where no card has that rate."""
    ports = [fact.value for fact in stated if isinstance(fact.value, CardPort)]
    if prediction is None or prediction.machine is None or not ports:
        return None
    slowest = min(ports, key=lambda port: port.gbits)
    nic = name_card(round(slowest.gbits), slowest.layer)
    if not nic:
        return None
    try:
        return prediction.predict_on(prediction.machine.with_(nic=nic)).busbw
    except CollsimError:
        return None


def _list_fitting_causes(gap: Gap, ruled_out: set[str], prediction: Prediction | None) -> tuple[Cause, ...]:
    """Causes that only the times fit: hypotheses, and named as such."""
    if not _is_slower(gap) or gap.best is None:
        return ()
    causes: dict[str, Cause] = {}
    for candidate in (gap.best, *gap.alternatives):
        key = CAUSE_OF_HYPOTHESIS.get(candidate.key)
        if key is not None and key not in ruled_out and key not in causes:
            causes[key] = Cause(key, (), False, _predict_busbw(candidate.key, gap, prediction), _SOURCES.get(key, ""))
    return tuple(causes.values())


def _find_disagreements(evidence: Evidence, gap: Gap | None, prediction: Prediction | None) -> Iterator[OpenQuestion]:
    """Measurements that are too fast for the machine, or for the way that the data took, so that they are of another
    job."""
    if gap is None or prediction is None:
        return
    tables = evidence.select("run.table")[:1]
    if gap.ratio > _OTHER_MACHINE and gap.verdict not in ("agree", "within"):
        yield OpenQuestion("other_machine", (), tables)
        return
    for rule in CAUSES:
        paths = tuple(fact for fact in rule.find(evidence) if fact.kind in _PATHS)
        slow = _predict_busbw(rule.hypothesis, gap, prediction)
        if paths and slow is not None and gap.ratio * prediction.busbw > _OTHER_MACHINE * slow:
            yield OpenQuestion("other_path", (rule.key,), (*paths[:1], *tables))
            return


def _decide_verdict(
    causes: Sequence[Cause],
    questions: Sequence[OpenQuestion],
    gap: Gap | None,
    contradictions: Sequence[Contradiction],
) -> Verdict:
    faults = [cause for cause in causes if cause.is_fault]
    if any(cause.is_stated for cause in faults):
        return "cause"
    if questions:
        return "undecided"
    if len(faults) == 1:
        return "cause"
    if faults:
        return "undecided"
    if gap is None:
        return "unknown"
    if contradictions:
        return "undecided"
    if gap.is_agreement or not _is_slower(gap):
        return "healthy"
    return "undecided"


def _add_costs(causes: Sequence[Cause], predictions: JobPredictions | None) -> tuple[Cause, ...]:
    """Give each modelled cause what fixing it alone gains: the worst of the others is the limit then."""
    if predictions is None:
        return tuple(causes)
    priced = []
    for cause in causes:
        if cause.predicted is None:
            priced.append(cause)
            continue
        # Of causes that only fit, one is the cause: the others are no limit to it.
        others = [other.predicted for other in causes if other is not cause and other.is_stated]
        limits = [busbw for busbw in others if busbw is not None]
        priced.append(replace(cause, cost=predictions.compute_cost(min(limits, default=math.inf))))
    return tuple(priced)


def _list_missing(evidence: Evidence, job: ObservedJob) -> tuple[str, ...]:
    """Evidence that was not given and would tell more."""
    missing = []
    if not evidence.find_texts("NCCL log"):
        missing.append("log")
    if job.machine is None or not evidence.find_texts("nvidia-smi topo -m"):
        missing.append("topology")
    if job.run is None:
        missing.append("table")
    if job.nodes > 1 and not evidence.select("card.port"):
        missing.append("cards")
    if find_single_readings(evidence):
        missing.append("counters")
    return tuple(missing)


def _write_fact(fact: Fact) -> dict[str, object]:
    return {"piece": Path(fact.piece).name, "line": fact.line, "text": fact.text, "kind": fact.kind}


def _write_cause(cause: Cause) -> dict[str, object]:
    return {
        "key": cause.key,
        "explanation": cause.explanation(),
        "is_stated": cause.is_stated,
        "is_fault": cause.is_fault,
        "predicted_busbw": cause.predicted,
        "cost": _write_cost(cause.cost),
        "evidence": list(map(_write_fact, cause.evidence)),
        "check": cause.check(),
        "fix": cause.fix(),
        "source": cause.source,
    }


def _write_cost(cost: JobCost | None) -> dict[str, object] | None:
    if cost is None:
        return None
    document = asdict(cost)
    if cost.training is not None:
        document["training"]["hours_of_day"] = cost.training.hours_of_day
    return document


def _write_path(path: DataPath | None) -> dict[str, object] | None:
    if path is None:
        return None
    names = ("transports", "channels", "algorithm", "protocol", "cards")
    return {name: getattr(path, name) for name in names}
