"""The sidebar of the page Train: what is trained, where, how it is split, and how the network is timed."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from collsim.train.compute.eager_speed import COMPILE_MODES
from collsim.train.compute.gpu_speeds import DTYPES, list_gpus
from collsim.train.model_families import models
from collsim.train.parallel.strategy import OPTIMIZERS
from collsim.train.step_request import NETWORKS

from ...editor.sidebar import choose_where
from ...scenario.choice import drop_own_machine, read_file_fields
from ...shell.address import change_remembered, get_remembered, remember
from ...shell.controls import choose, choose_quantity, choose_segment, label_values, number, switch
from ...shell.notes import draw_part
from ...shell.session import get_session, t
from . import training_choice
from .training_choice import TrainingChoice

SIZES = ["256KiB", "1MiB", "4MiB", "8MiB", "16MiB", "25MiB", "50MiB", "100MiB", "500MiB"]
#: What an operation takes the host: the default first, and the slowest and the fastest of five hosts.
LAUNCHES = ["20us", "15us", "41us"]
SHARES = ["", "0", "0.05", "0.15", "0.3", "1"]


def draw_controls(choice: TrainingChoice) -> TrainingChoice:
    """Draw all controls; what they say.

    Args:
        choice: The step of training that is chosen.
    """
    if choice.machine_text and choice.machine_text != get_session().choice.machine_text:
        get_session().choice = replace(get_session().choice, machine_text=choice.machine_text)
    with st.sidebar:
        choice = _choose_model(choice)
        choice = training_choice.move_to_machine(choice, choose_where(choice.where, _take, _drop))
        choice = _split(choice)
        return _choose_network(choice)


def _take(text: str) -> None:
    get_session().choice = replace(get_session().choice, machine_text=text)
    change_remembered("train", **read_file_fields(text))


def _drop() -> None:
    get_session().choice = drop_own_machine(get_session().choice)
    remember(
        "train",
        training_choice.move_to_machine(get_remembered("train"), drop_own_machine(get_remembered("train").where)),
    )


def _choose_model(choice: TrainingChoice) -> TrainingChoice:
    draw_part(t("train.what"))
    model = choose("train_model", t("train.model"), label_values(models()), choice.model)
    samples = number("train_samples", choice.samples, 1, training_choice.MAX_SAMPLES, t("train.samples"))
    short = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
    dtype = choose_segment(
        "train_dtype", list(DTYPES), choice.dtype, short.__getitem__, t("train.dtype"), t("train.dtype.help")
    )
    optimizer = choose("train_optimizer", t("train.optimizer"), label_values(OPTIMIZERS), choice.optimizer)
    choice = replace(choice, model=model, samples=samples, dtype=dtype, optimizer=optimizer)
    if dtype != "float32":
        narrow = switch("train_narrow", choice.narrow_weights, t("train.narrow"), t("train.narrow.help"))
        choice = replace(choice, narrow_weights=narrow)
    if training_choice.has_attention(model):
        kinds = {"": t("train.attention.own"), **{name: name for name in training_choice.ATTENTION}}
        attention = choose(
            "train_attention", t("train.attention"), kinds, choice.attention, help=t("train.attention.help")
        )
        choice = replace(choice, attention=attention)
    return choice


def _split(choice: TrainingChoice) -> TrainingChoice:
    draw_part(t("train.split"), "next")
    strategies = {name: t(f"train.strategy.{name}") for name in training_choice.STRATEGIES}
    choice = replace(choice, strategy=choose("train_strategy", t("train.strategy"), strategies, choice.strategy))
    if choice.strategy == "data_parallel":
        return replace(choice, nccl=switch("train_nccl", choice.nccl, t("train.nccl"), t("train.nccl.help")))
    choice = replace(choice, bucket=_choose_bucket(choice.bucket))
    if choice.strategy == "parameter_server":
        return _choose_servers(choice)
    return replace(
        choice,
        bucket_view=switch("train_view", choice.bucket_view, "gradient_as_bucket_view"),
        find_unused=switch("train_unused", choice.find_unused, "find_unused_parameters"),
    )


def _choose_bucket(current: str) -> str:
    """A size, or torch's default, whose first bucket is smaller."""
    default_text = t("train.bucket.usual")

    def read(text: str) -> str:
        """Read a text that was typed; it raises for one that is none.

        Args:
            text: The text.
        """
        if text == default_text:
            return default_text
        return training_choice.read_bucket(text)

    text = choose_quantity("train_bucket", [default_text, *SIZES], current or default_text, t("train.bucket"), read)
    if text == default_text:
        return ""
    return text


def _choose_servers(choice: TrainingChoice) -> TrainingChoice:
    return replace(
        choice,
        servers=number("train_servers", choice.servers, 1, training_choice.MAX_SERVERS, t("train.servers")),
        servers_on=choose_segment(
            "train_on",
            list(training_choice.SERVERS_ON),
            choice.servers_on,
            lambda on: t(f"train.on.{on}"),
            t("train.on"),
        ),
        wait=switch("train_wait", choice.wait, t("train.wait"), t("train.wait.help")),
    )


def _choose_network(choice: TrainingChoice) -> TrainingChoice:
    draw_part(t("train.net"), "next")
    timing = choose_segment(
        "train_timing",
        list(NETWORKS),
        choice.timing,
        lambda name: t(f"train.timing.{name}"),
        t("train.timing"),
        t("train.timing.help"),
    )
    shares = {text: _share(text) for text in dict.fromkeys([*SHARES, choice.interference])}
    slower = choose(
        "train_interference", t("train.interference"), shares, choice.interference, help=t("train.interference.help")
    )
    speeds = {"": t("train.gpu.own"), **label_values(list_gpus())}
    gpu = choose("train_gpu", t("train.gpu"), speeds, choice.gpu)
    choice = replace(choice, timing=timing, interference=slower, gpu=gpu)
    if training_choice.has_measured_gpu(choice):
        return _choose_pytorch(choice)
    return choice


def _choose_pytorch(choice: TrainingChoice) -> TrainingChoice:
    """How PyTorch runs the model, and on which host: of a GPU whose operations were measured."""
    modes = {"": t("train.compile.many"), "none": t("train.compile.none")}
    modes |= {mode: f"torch.compile, {mode}" for mode in COMPILE_MODES[1:]}
    mode = choose("train_compile", t("train.compile"), modes, choice.compile, help=t("train.compile.help"))
    choice = replace(choice, compile=mode)
    if not mode:
        return replace(choice, host_launch="")
    launch = choose_quantity(
        "train_host_launch", LAUNCHES, choice.host_launch or LAUNCHES[0], t("train.host"), training_choice.read_launch
    )
    return replace(choice, host_launch="" if launch == LAUNCHES[0] else launch)


def _share(text: str) -> str:
    if text:
        return f"{100 * float(text):g} %"
    return t("train.interference.own")
