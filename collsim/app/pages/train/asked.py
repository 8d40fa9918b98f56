"""What the page Train was asked for, as one frozen value, and its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.train.compute.compute_costs import resolve_interference
from collsim.train.compute.gpu_speeds import DTYPES, list_gpus
from collsim.train.model_families import models
from collsim.train.parallel.strategy import OPTIMIZERS
from collsim.train.step_request import NETWORKS

from ...scenario.address import Complaint, PageAddress, Word
from ...scenario.choice import (
    MACHINE_WORDS,
    WORDS,
    Choice,
    PlaceChoice,
    count,
    filed,
    flag,
    has_shape,
    networks,
    one_of,
)
from ...scenario.custom_machine import OWN, packed

WAYS = ("ddp", "data_parallel", "parameter_server")
VIEWS = ("step", "race", "scaling")
SERVERS_ON = ("host", "rank")
MOST_SAMPLES, MOST_SERVERS = 65536, 64
#: Switches of the page, each with what `StepTrace.what_if` is told.
CHANGES: dict[str, dict[str, Any]] = {
    "overlap": {"overlap": False},
    "network": {"network": 2},
    "hook": {"hook": "fp16"},
    "accumulate": {"accumulate": 4},
    "first": {"first_step": True},
}
#: Those that a way of splitting has; the others are DDP's.
COMMON = ("network", "accumulate")


@dataclass(frozen=True)
class TrainingChoice(PlaceChoice):
    """One step of training, as asked for, on a place as any run.

    Attributes:
        samples: of a GPU at a time. gpu: whose speed counts; "" is the machine's own.
        way: a name in WAYS. bucket: bytes that close a bucket, as text; "" is torch's default. bucket_view,
            find_unused: torch's gradient_as_bucket_view and find_unused_parameters.
        nccl: DataParallel copies by NCCL. servers, servers_on, wait: of a parameter server.
        interference: share of its speed that a communicating GPU loses, as text; "" is the GPU's own.
        timing: alone or shared. changes: switches that are on. open: the name of the collective that is opened, "none"
            for none, "" for the one that GPUs wait for longest.
        show: the step, the race, or how it scales. every: each GPU has lanes of its own.
    """

    model: str = "resnet50"
    samples: int = 16
    dtype: str = "bfloat16"
    optimizer: str = "adam"
    gpu: str = ""
    place: str = "pcie-8gpu"
    way: str = "ddp"
    bucket: str = ""
    bucket_view: bool = False
    find_unused: bool = False
    nccl: bool = True
    servers: int = 1
    servers_on: str = "host"
    wait: bool = True
    interference: str = ""
    timing: str = "alone"
    changes: tuple[str, ...] = ()
    open: str = ""
    show: str = "step"
    every: bool = False

    @property
    def speed_of(self) -> str | None:
        """The GPU to compute with; a network that is no machine has A100s unless another is named."""
        return self.gpu or ("A100" if self.place in networks() else None)

    @property
    def offered(self) -> tuple[str, ...]:
        """The switches that its way of splitting has."""
        return tuple(CHANGES) if self.way == "ddp" else COMMON

    @property
    def switched(self) -> dict[str, Any]:
        """What `what_if` is told of all switches that are on."""
        return {k: v for name in self.changes if name in self.offered for k, v in CHANGES[name].items()}


PLAIN = TrainingChoice()


def at(choice: TrainingChoice, where: Choice) -> TrainingChoice:
    """The same step at another place."""
    return replace(choice, **where.place_words)


def on(where: Choice) -> TrainingChoice:
    """A step on a machine that was taken along."""
    return at(PLAIN, where)


# ---- the address ---------------------------------------------------------------------------------------------------


def read_bucket(text: str) -> str:
    """A size of buckets as it was written. Raises CollsimError for what is none."""
    cs.ddp(bucket=text)
    return text


def _interference(text: str) -> str:
    try:
        share: Any = float(text)
    except ValueError:
        share = text
    resolve_interference(None, share)
    return text


def _changes(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one_of("switch", lambda: CHANGES)(name) for name in text.split(",")))


def _opened(text: str) -> str:
    """The name of a collective: letters, spaces and a number. Whether the step has it is seen when it is drawn."""
    if not text.replace(" ", "").isascii() or not text.replace(" ", "").isalnum() or not text[:1].isalpha():
        raise CollsimError("unknown")
    return text


def _name(name: str, known: Callable[[], Any], field: str = "") -> Word:
    return Word(name, one_of(name, known), field)


_WORDS = (
    _name("model", models),
    Word("samples", count("samples", MOST_SAMPLES)),
    _name("dtype", lambda: DTYPES),
    _name("optimizer", lambda: OPTIMIZERS),
    _name("gpu", list_gpus),
    *(WORDS[name] for name in ("own", "machine", "network", *MACHINE_WORDS, "ranks", "shape", "bandwidth", "alpha")),
    _name("parallel", lambda: WAYS, "way"),
    Word("bucket", read_bucket, instead="25MiB"),
    Word("bucket_view", flag),
    Word("find_unused", flag),
    Word("nccl", flag),
    Word("servers", count("servers", MOST_SERVERS)),
    _name("servers_on", lambda: SERVERS_ON),
    Word("wait", flag),
    Word("interference", _interference),
    _name("timing", lambda: NETWORKS),
    Word("changes", _changes, write=",".join),
    Word("open", _opened),
    _name("show", lambda: VIEWS),
    Word("every", flag),
)


def _agree(found: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> TrainingChoice:
    """A machine of one's own needs its text; a network that is not told by its ranks needs a shape."""
    if found.get("place") == OWN and not found.get("own"):
        del found["place"]
        if "own" not in query:
            complaints.append(Complaint("machine", OWN, "the address does not hold the machine", PLAIN.place))
    if found.get("place") == OWN:
        found = filed(found["own"]) | found
    return replace(PLAIN, **found)


def _adapt(choice: TrainingChoice, said: dict[str, str]) -> dict[str, str]:
    """Of the place only what it has, and all of that where it is another place than usual."""
    for name in ("machine", "network", "own", *MACHINE_WORDS, "ranks", "shape", "bandwidth", "alpha"):
        text = said.pop(name, "")
        if _matters(choice, name):
            said[name] = packed(choice.own) if name == "own" else text
    if choice.place != PLAIN.place:
        said["network" if choice.place in networks() else "machine"] = choice.place
    return said


def _matters(choice: TrainingChoice, name: str) -> bool:
    """Does the place take this word?"""
    if choice.place in networks():
        return name in ("bandwidth", "alpha", "shape" if has_shape(choice.place) else "ranks")
    return name in choice.where.takes or (name == "own" and choice.place == OWN)


ADDRESS = PageAddress(PLAIN, _WORDS, _agree, _adapt)


def code(choice: TrainingChoice) -> tuple[str, dict[str, Any]]:
    """How it is split, as its call, and the keywords of `training_step`, as far as they are not as usual."""
    words: dict[str, Any] = {"micro_batch": choice.samples, "dtype": choice.dtype}
    words |= {"optimizer": choice.optimizer} if choice.optimizer != "adam" else {}
    words |= {"compute": choice.speed_of} if choice.speed_of else {}
    words |= {"interference": float(choice.interference)} if choice.interference else {}
    words |= {"network": choice.timing} if choice.timing != "alone" else {}
    return f"cs.{choice.way}({', '.join(f'{k}={v!r}' for k, v in options(choice).items())})", words


def options(choice: TrainingChoice) -> dict[str, Any]:
    """Options of its way of splitting that are not as usual."""
    sized = {"bucket": choice.bucket} if choice.bucket else {}
    if choice.way == "ddp":
        flags = {"view": choice.bucket_view, "find_unused": choice.find_unused}
        return sized | {name: value for name, value in flags.items() if value}
    if choice.way == "data_parallel":
        return {} if choice.nccl else {"nccl": False}
    own: dict[str, Any] = {"servers": choice.servers} if choice.servers > 1 else {}
    own |= {"on": choice.servers_on} if choice.servers_on != "host" else {}
    return own | ({} if choice.wait else {"synchronous": False}) | sized
