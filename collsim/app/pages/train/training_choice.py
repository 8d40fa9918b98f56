"""What the page Train was asked for, as one frozen value, and its address."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.locale.synonyms import find_synonyms
from collsim.train.compute.compute_costs import add_kernels, resolve_interference
from collsim.train.compute.eager_speed import COMPILE_MODES, EagerSpeed, get_eager_speed
from collsim.train.compute.gpu_speeds import DTYPES, list_gpus
from collsim.train.model_families import list_model_options, models
from collsim.train.parallel.strategy import OPTIMIZERS, Optimizer
from collsim.train.parallel.strategy_parser import STRATEGIES as ALL_STRATEGIES
from collsim.train.step_request import NETWORKS, CollectiveTiming

from ...scenario.address_parameters import (
    Complaint,
    Control,
    declare_word,
    join_words,
    list_words,
    require_words,
    shorten,
    split_words,
)
from ...scenario.choice import (
    Choice,
    MachineChoice,
    build_machine_address,
    create_list_reader,
    create_name_reader,
    create_quantity_reader,
    declare_menu,
    declare_number,
    declare_quantity,
    declare_switch,
    list_networks,
)
from ...scenario.outcome import build_topology, read_choice
from ...scenario.snippets import write_call

STRATEGIES = ("ddp", "data_parallel", "parameter_server")
ATTENTION = ("sdpa", "eager")
#: Characters of a pinned step.
LONGEST_PIN = 420
VIEWS = ("step", "race", "scaling")
SERVERS_ON = ("host", "rank")
#: Sizes of buckets, what an operation takes the host (the slowest and the fastest of five hosts), and shares of their
#: bandwidth that collectives take from computing; "" is what is usual.
BUCKETS = ("", "256KiB", "1MiB", "4MiB", "8MiB", "16MiB", "25MiB", "50MiB", "100MiB", "500MiB")
LAUNCHES = ("", "15us", "41us")
SHARES = ("", "0", "0.05", "0.15", "0.3", "1")
#: Switches of the page, each with what `StepTrace.what_if` is told.
CHANGES: dict[str, dict[str, object]] = {
    "overlap": {"overlap": False},
    "network": {"network": 2},
    "hook": {"hook": "fp16"},
    "accumulate": {"accumulate": 4},
    "first": {"first_step": True},
}
#: Those that a way of splitting has; the others are DDP's.
COMMON = ("network", "accumulate")
#: Reads a size of buckets, which stays as it was written.
read_bucket = create_quantity_reader(lambda text: cs.ddp(bucket=text))


def _read_interference(text: str) -> str:
    try:
        share: Any = float(text)
    except ValueError:
        share = text
    resolve_interference(None, share)
    return text


def read_launch(text: str) -> str:
    """A host's time for an operation as it was written.

    Args:
        text: The text.

    Raises:
        CollsimError: for what is none
    """
    get_eager_speed("H100", host_launch=text)
    return text


def _read_opened(text: str) -> str:
    """The name of a collective: letters, spaces and a number. Whether the step has it is seen when it is drawn."""
    if not text.replace(" ", "").isascii() or not text.replace(" ", "").isalnum() or not text[:1].isalpha():
        raise CollsimError("unknown")
    return text


def _read_strategy(text: str) -> str:
    """The name of a strategy of this page; one of another page is answered with its page."""
    names = {text.lower(), *re.findall(r"(\w+)\(", text.lower()), *find_synonyms(text, ALL_STRATEGIES)}
    others = (names & set(ALL_STRATEGIES)) - set(STRATEGIES)
    if text in STRATEGIES or not others:
        return create_name_reader("parallel", lambda: STRATEGIES)(text)
    if others <= {"fsdp", "zero"}:
        raise CollsimError("this page has no {name}; the page “The water level of FSDP” has it", name=shorten(text))
    raise CollsimError("this page has no {name}; the page “One model on a thousand GPUs” has it", name=shorten(text))


@dataclass(frozen=True)
class TrainingChoice(MachineChoice):
    """One step of training, as asked for, on a machine as any run.

    Attributes:
        samples: of a GPU at a time.
        dtype: type that the step computes in.
        narrow_weights: weights, gradients and optimizer are in the type that is computed in; else in float32.
        attention: sdpa or eager; "" is as the model has it.
        gpu: whose speed counts; "" is the machine's own.
        compile: mode of torch.compile ("none": eager PyTorch); "" are the fused kernels of published runs.
        host_launch: time of the host for an operation in PyTorch, as text; "" is that of the measured host.
        strategy: a name in STRATEGIES.
        bucket: bytes that close a bucket, as text; "" is torch's default.
        bucket_view, find_unused: torch's gradient_as_bucket_view and find_unused_parameters.
        nccl: DataParallel copies by NCCL.
        servers, servers_on, wait: of a parameter server.
        interference: share of its speed that a communicating GPU loses, as text; "" is the GPU's own.
        timing: alone or shared.
        changes: switches that are on.
        open: the name of the collective that is opened, "none" for none, "" for the one that GPUs wait for longest.
        show: the step, the race, or how it scales.
        every: each GPU has lanes of its own.
        pinned: a step that is to be compared with another one, as `write_step` writes it; "" for none.
    """

    model: str = declare_menu("resnet50", "model", models)
    samples: int = declare_number(16, "samples", 65536)
    dtype: str = declare_menu("bfloat16", "dtype", lambda: DTYPES, kind="segments", names="train.dtype")
    optimizer: Optimizer = declare_menu("adam", "optimizer", lambda: OPTIMIZERS)
    narrow_weights: bool = declare_switch(False)
    attention: str = declare_menu("", "attention", lambda: ATTENTION)
    gpu: str = declare_menu("", "gpu", list_gpus)
    compile: str = declare_menu("", "compile", lambda: COMPILE_MODES, names="train.compile")
    host_launch: str = declare_quantity("", read_launch, LAUNCHES, instead="20us")
    machine: str = "pcie-8gpu"
    strategy: str = declare_word(
        "ddp", _read_strategy, "parallel", control=Control("menu", lambda: STRATEGIES, names="train.strategy")
    )
    bucket: str = declare_quantity("", read_bucket, BUCKETS, instead="25MiB")
    bucket_view: bool = declare_switch(False)
    find_unused: bool = declare_switch(False)
    nccl: bool = declare_switch(True)
    servers: int = declare_number(1, "servers", 64)
    servers_on: str = declare_menu("host", "servers_on", lambda: SERVERS_ON, kind="segments", names="train.servers_on")
    wait: bool = declare_switch(True)
    interference: str = declare_word("", _read_interference, control=Control("menu", lambda: SHARES, names="share"))
    timing: CollectiveTiming = declare_menu("alone", "timing", lambda: NETWORKS, kind="segments", names="train.timing")
    changes: tuple[str, ...] = declare_word((), create_list_reader("switch", lambda: CHANGES), write=",".join)
    open: str = declare_word("", _read_opened)
    show: str = declare_menu("step", "show", lambda: VIEWS)
    every: bool = declare_switch(False)
    pinned: str = declare_word("", require_words, "pin", limit=LONGEST_PIN, instead="–")

    @property
    def speed_of(self) -> str | None:
        """The GPU to compute with; a network that is no machine has A100s unless another is named."""
        return self.gpu or ("A100" if self.machine in list_networks() else None)

    @property
    def eager_options(self) -> dict[str, str]:
        """Options of `get_eager_speed`; with fused kernels, and for a GPU that is not known, there are none."""
        if not (self.compile and has_known_gpu(self)):
            return {}
        options = {"compile": self.compile}
        if self.host_launch:
            options["host_launch"] = self.host_launch
        return options

    @property
    def has_narrow_weights(self) -> bool:
        """Whether weights are narrower than float32, which needs a type to be narrow in."""
        return self.narrow_weights and self.dtype != "float32"

    @property
    def model_options(self) -> dict[str, bool]:
        """Options of the model that are not as usual; one without attention has none."""
        if self.attention and has_attention(self.model):
            return {"flash": self.attention == "sdpa"}
        return {}

    @property
    def offered(self) -> tuple[str, ...]:
        """The switches that its way of splitting has."""
        if self.strategy == "ddp":
            return tuple(CHANGES)
        return COMMON

    @property
    def switched(self) -> dict[str, object]:
        """What `what_if` is told of all switches that are on."""
        return {k: v for name in self.changes if name in self.offered for k, v in CHANGES[name].items()}


PLAIN = TrainingChoice()


def has_attention(model: str) -> bool:
    """Whether a model's attention can be chosen.

    Args:
        model: Its name.
    """
    return "flash" in list_model_options(model)


def find_gpu(choice: TrainingChoice) -> str:
    """Find the GPU whose speed counts.

    Args:
        choice: The step of training that is chosen.
    """
    return choice.speed_of or str(getattr(build_topology(choice).facts.machine, "gpu", ""))


def has_known_gpu(choice: TrainingChoice) -> bool:
    """Whether its GPU is in the catalogue, so that compiling and the host can be chosen.

    Args:
        choice: The step of training that is chosen.
    """
    try:
        return find_gpu(choice) in list_gpus()
    except CollsimError:  # a machine that cannot be built is answered where it is built
        return False


def name_speed(choice: TrainingChoice) -> str | None:
    """Name the GPU that computes, as `training_step(compute=)` takes it, with the kernels where one GPU is alone and
    no option of eager PyTorch says them.

    Args:
        choice: The step of training that is chosen.
    """
    if choice.eager_options or build_topology(choice).ranks > 1:
        return choice.speed_of
    return add_kernels(choice.speed_of)


def build_speed(choice: TrainingChoice) -> EagerSpeed | str | None:
    """Build what `training_step` is told of how fast GPUs compute.

    Args:
        choice: The step of training that is chosen.
    """
    if options := choice.eager_options:
        return get_eager_speed(find_gpu(choice), choice.dtype, **options)  # type: ignore[arg-type]
    return name_speed(choice)


def build_model(choice: TrainingChoice) -> cs.train.Model:
    """Build the model that is trained.

    Args:
        choice: The step of training that is chosen.
    """
    model = cs.model(choice.model, **choice.model_options)
    if choice.has_narrow_weights:
        return model.to(choice.dtype)
    return model


def build_choice(where: Choice) -> TrainingChoice:
    """A step on a machine that was taken along.

    Args:
        where: The machine.
    """
    return replace(PLAIN, **where.machine_fields)


# ---- the address ---------------------------------------------------------------------------------------------------


def _adapt_address(choice: TrainingChoice, query: dict[str, str]) -> dict[str, str]:
    """Of the model only the words that it has."""
    if choice.dtype == "float32":
        query.pop("narrow_weights", "")
    if not has_attention(choice.model):
        query.pop("attention", "")
    if not choice.eager_options:
        query.pop("compile", "")
        query.pop("host_launch", "")
    return query


ADDRESS = build_machine_address(PLAIN, list_words(PLAIN), _adapt_address)


def select_timed(choice: TrainingChoice) -> TrainingChoice:
    """What of it decides when things happen: not what is opened or pinned, nor how it is shown.

    Args:
        choice: The step of training that is chosen.
    """
    return replace(choice, open="", show=PLAIN.show, every=False, pinned="")


def write_step(choice: TrainingChoice) -> str:
    """A step in one word of an address: `model:resnet50;nodes:4`.

    Args:
        choice: The step of training that is chosen.
    """
    words = {"model": choice.model, **ADDRESS.write(select_timed(choice))}
    return join_words(words)


def read_step(text: str) -> tuple[TrainingChoice, list[Complaint]]:
    """The step of such a word, and complaints about what cannot be used.

    Args:
        text: As `write_step` wrote it.
    """
    words = split_words(text)
    step, complaints = ADDRESS.read({name: value for name, value in words.items() if name != "pin"})
    assert isinstance(step, TrainingChoice)
    return select_timed(step), complaints


#: The first word of a pinned run of one collective, which tells it from a step.
_RUN = "run:1;"


def write_pinned_run(text: str) -> str:
    """A run of one collective as it is pinned on this page.

    Args:
        text: The run, as `race.lineup.write_runner` has it.
    """
    return _RUN + text


def read_pinned(text: str) -> tuple[TrainingChoice | Choice, list[Complaint]]:
    """The step or the run of one collective that is pinned, and complaints about what cannot be used.

    Args:
        text: As `write_step` or `write_pinned_run` wrote it.
    """
    if text.startswith(_RUN):
        return read_choice(split_words(text.removeprefix(_RUN)))
    return read_step(text)


def name_difference(first: TrainingChoice, second: TrainingChoice) -> tuple[str, str]:
    """What tells two steps apart: the words of an address that differ, with the value of each.

    Args:
        first: A step.
        second: Another one.
    """
    fields = [field.name for field in dataclasses.fields(TrainingChoice) if field.name != "machine_text"]
    differing = [name for name in fields if getattr(first, name) != getattr(second, name)]
    texts = [", ".join(f"{name} {_write_value(getattr(step, name))}" for name in differing) for step in (first, second)]
    return texts[0], texts[1]


def _write_value(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "–"
    if isinstance(value, bool):
        return {True: "on", False: "off"}[value]
    return str(value) or "–"


def build_arguments(choice: TrainingChoice) -> tuple[str, dict[str, str]]:
    """How it is split, as its call, and the keywords of `training_step` as code, as far as they are not as usual.

    Args:
        choice: The step of training that is chosen.
    """
    words = {"micro_batch": repr(choice.samples), "dtype": repr(choice.dtype)}
    if choice.optimizer != "adam":
        words |= {"optimizer": repr(choice.optimizer)}
    if options := choice.eager_options:
        speed = repr(find_gpu(choice)), repr(choice.dtype)
        words |= {"compute": write_call("cs.train.get_eager_speed", *speed, **options)}
    elif speed_of := name_speed(choice):
        words |= {"compute": repr(speed_of)}
    if choice.interference:
        words |= {"interference": repr(float(choice.interference))}
    if choice.timing != "alone":
        words |= {"network": repr(choice.timing)}
    return write_call(f"cs.{choice.strategy}", **list_options(choice)), words


def list_options(choice: TrainingChoice) -> dict[str, object]:
    """Options of its way of splitting that are not as usual.

    Args:
        choice: The step of training that is chosen.
    """
    sized = {}
    if choice.bucket:
        sized = {"bucket": choice.bucket}
    if choice.strategy == "ddp":
        flags = {"view": choice.bucket_view, "find_unused": choice.find_unused}
        return sized | {name: value for name, value in flags.items() if value}
    if choice.strategy == "data_parallel":
        if choice.nccl:
            return {}
        return {"nccl": False}
    values: dict[str, object] = {}
    if choice.servers > 1:
        values = {"servers": choice.servers}
    if choice.servers_on != "host":
        values |= {"on": choice.servers_on}
    if not choice.wait:
        values["synchronous"] = False
    return values | sized
