"""The sidebar of the page Train: what is trained, where, how it is split, and how the network is timed."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ...editor.sidebar import choose_where
from ...shell.form import draw_field, draw_fields
from ...shell.notes import draw_part
from ...shell.session import t
from . import training_choice
from .training_choice import TrainingChoice

PAGE = "train"
#: What can be set of each strategy.
_FIELDS = {
    "ddp": ("bucket", "bucket_view", "find_unused"),
    "data_parallel": ("nccl",),
    "parameter_server": ("bucket", "servers", "servers_on", "wait"),
}


def draw_controls(choice: TrainingChoice) -> TrainingChoice:
    """Draw all controls; what they say.

    Args:
        choice: The step that is chosen.
    """
    with st.sidebar:
        choice = choose_where(_choose_model(choice))
        return _choose_network(_split(choice))


def _choose_model(choice: TrainingChoice) -> TrainingChoice:
    draw_part(t("train.what"))
    choice = draw_fields(PAGE, choice, "model", "samples", "dtype", "optimizer")
    if choice.dtype != "float32":
        choice = draw_field(PAGE, choice, "narrow_weights")
    if training_choice.has_attention(choice.model):
        return draw_field(PAGE, choice, "attention")
    return choice


def _split(choice: TrainingChoice) -> TrainingChoice:
    draw_part(t("train.split"), "next")
    choice = draw_field(PAGE, choice, "strategy")
    return draw_fields(PAGE, choice, *_FIELDS[choice.strategy])


def _choose_network(choice: TrainingChoice) -> TrainingChoice:
    draw_part(t("train.net"), "next")
    choice = draw_fields(PAGE, choice, "timing", "interference", "gpu")
    if not training_choice.has_known_gpu(choice):
        return choice
    choice = draw_field(PAGE, choice, "compile")
    if not choice.compile:
        return replace(choice, host_launch="")
    return draw_field(PAGE, choice, "host_launch")
