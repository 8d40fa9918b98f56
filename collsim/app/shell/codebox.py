"""The same as code, at the foot of every page: Python, command line, PyTorch, NCCL's environment and nccl-tests, ready
to copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

import collsim as cs
from collsim.collective import build_pair_shares, count_token_visits
from collsim.display.markup import escape_markdown
from collsim.trees import count_nodes

from ..scenario import custom_machine, pytorch, snippets
from ..scenario.choice import Choice, list_own_options
from ..scenario.outcome import build_topology, list_compared, list_used_options
from .controls import draw_folded, label_algorithm
from .notes import draw_heading, draw_note
from .session import get_language, t

_MAX_SIZES = 40


@dataclass(frozen=True)
class CodePart:
    """One piece of code under its name.

    Attributes:
        title: the name.
        code: the text; empty where there is only a note.
        language: for highlighting, `python` or `bash`.
        note: written below the code, or in its place; empty where there is none.
    """

    title: str
    code: str
    language: str = "bash"
    note: str = ""


def draw_code(
    script: str,
    command: str,
    left: Sequence[CodePart] = (),
    right: Sequence[CodePart] = (),
    note: str = "",
    texts: tuple[str, ...] = (),
    script_note: str = "",
) -> None:
    """Draw what a page does as code: Python on the left, the command line on the right, and the files that they read.

    Args:
        script: Python that prints the same figures.
        command: The command that prints them.
        left: Further parts of the left column.
        right: Further parts of the right column.
        note: Written below the command.
        texts: Machines of one's own that the code reads from files, each as the text of its file.
        script_note: Written below the script.
    """
    columns = (
        [CodePart(t("python"), script, "python", script_note), *left],
        [CodePart(t("cli"), command, note=note), *right],
    )
    for column, parts in zip(st.columns(2, gap="medium"), columns, strict=True):
        with column:
            for part in parts:
                _draw_part(part)
    for text in dict.fromkeys(filter(None, texts)):
        name = custom_machine.read_facts(text).file
        st.download_button(escape_markdown(t("own.download", file=name)), text, name, on_click="ignore")


def draw_code_box(
    script: str,
    command: str,
    left: Sequence[CodePart] = (),
    right: Sequence[CodePart] = (),
    note: str = "",
    text: str = "",
) -> None:
    """Draw the same as a part of a page that opens.

    Args:
        script: Python.
        command: Of the command line.
        left: More pieces on the left.
        right: More pieces on the right.
        note: A sentence under the command.
        text: A machine of one's own that both read.
    """
    draw_folded("code", t("code.title"), partial(draw_code, script, command, left, right, note, (text,)))


def _draw_part(part: CodePart) -> None:
    draw_heading(part.title)
    if part.code:
        st.code(part.code, language=part.language, wrap_lines=part.language == "bash")
    if part.note:
        draw_note(part.note)
    if snippets.EDITED_FILE in part.code and part.language == "bash" and t("code.edits") not in part.note:
        draw_note(t("code.edits"))


def draw_run_code(choice: Choice) -> None:
    """Explore: one run.

    Args:
        choice: The run that is chosen.
    """
    used, ranks = _find_options(choice)
    draw_real_code(choice, snippets.write_python(choice, used), snippets.write_command(choice, used), used, ranks)


def _find_options(choice: Choice) -> tuple[dict[str, Any], int]:
    """Options of a run, channels included, and its number of ranks."""
    topology = build_topology(choice)
    return list_used_options(choice, topology), topology.ranks


def draw_comparison_code(choice: Choice) -> None:
    """Compare: several algorithms over sizes.

    Args:
        choice: The run that is chosen.
    """
    topology = build_topology(choice)
    pairs, ranks = list_compared(choice, topology), topology.ranks
    names = tuple(dict.fromkeys(name for name, _ in pairs))
    variants = [(replace(choice, algorithm=name), _find_most_channels(pairs, name)) for name in names]
    sizes = [str(size) for size in cs.size_range(choice.sizes)][:_MAX_SIZES]
    left = _build_torch_parts(choice, sizes, {}, ranks)
    right = [_build_nccl_tests_parts(variants, ranks, choice.sizes)]
    script, command = snippets.write_sweep_python(choice, pairs), snippets.write_sweep_command(choice, names)
    draw_code(script, command, left, right, texts=(choice.own_text,))


def _find_most_channels(pairs: list[tuple[str, dict[str, Any]]], name: str) -> dict[str, Any]:
    """Of the options that a comparison tries for an algorithm, those of a run that names no number."""
    tried = [options for n, options in pairs if n == name]
    return max(tried, key=lambda options: (options.get("channels", 1), -options.get("chunks", 1)))


def draw_race_code(runners: Sequence[Choice]) -> None:
    """Race: a few runs.

    Args:
        runners: The runs of the race.
    """
    raced = [(runner, *_find_options(runner)) for runner in runners]
    runs = [(runner, options) for runner, options, _ in raced]
    lines = "\n".join(snippets.write_command(runner, options) for runner, options in runs)
    first, used, ranks = raced[0]
    right = [
        _build_nccl_tests_parts([(runner, options)], n)
        for runner, options, n in raced
        if snippets.write_nccl_tests(runner, options, n)
    ]
    left = _build_torch_parts(first, [first.nbytes], used, ranks)
    texts = tuple(runner.own_text for runner in runners)
    draw_code(snippets.write_race_python(runs), lines, left, right, texts=texts)


def draw_real_code(choice: Choice, script: str, command: str, used: dict[str, Any], ranks: int, note: str = "") -> None:
    """Draw code of collsim, and the same run on real hardware.

    Args:
        choice: The run.
        script: Python.
        command: Of the command line.
        used: Options of the run, channels included.
        ranks: Number of ranks.
        note: A sentence under the command.
    """
    left = _build_torch_parts(choice, [choice.nbytes], used, ranks)
    right = [*_build_environment_parts(choice, used), _build_nccl_tests_parts([(choice, used)], ranks)]
    draw_code(script, command, left, right, note, (choice.own_text,))


def draw_synthesis_code(choice: Choice, used: dict[str, object], changed: str = "", *, switches: bool) -> None:
    """Explore and What-if: what is synthesized, raced and written to a file; `changed` builds the machine after a
    change, which the command line has no words for.

    Args:
        choice: The run that is chosen.
        used: Options of the run, channels included.
        changed: Code that builds the machine after the change.
        switches: Whether switches of the machine that reduce may be used.
    """
    without = "" if switches else " --no-switches"
    command, note = f"{snippets.write_command(choice, used)} --synthesize{without} --out synthesized.xml", ""
    if changed:
        command, note = "", t("code.edits")
    script = snippets.write_synthesis_python(choice, used, changed, switches)
    draw_code(script, command, note=note, script_note=t("synthesis.code.note"), texts=(choice.own_text,))


def draw_route_code(choice: Choice, a: int, b: int, ranks: int) -> None:
    """Machines: the way from one rank to another.

    Args:
        choice: The run that is chosen.
        a: The rank at which the route begins.
        b: The rank at which it ends.
        ranks: Number of ranks.
    """
    hardware = "lstopo"
    if snippets.count_node_gpus(choice):
        hardware = "nvidia-smi topo -m\nnvidia-smi topo -p2p r"
    left = _build_torch_parts(choice, [choice.nbytes], {}, ranks)
    right = [CodePart(t("code.hardware"), hardware), *_build_environment_parts(choice, {})]
    script, command = snippets.write_route_python(choice, a, b), snippets.write_command(choice, {})
    draw_code(script, command, left, right, texts=(choice.own_text,))


def _build_torch_parts(choice: Choice, sizes: list[str], used: dict[str, Any], ranks: int) -> list[CodePart]:
    """A script and the line that starts it."""
    shares = None
    if choice.collective == "alltoallv":
        shares = build_pair_shares(ranks, used.get("load", "zipf"), used.get("amounts"))
    elif choice.collective == "dispatch":
        shares = _find_dispatch_shares(choice, used, ranks)
    nbytes, root = [cs.units.parse_bytes(size) for size in sizes], int(used.get("root", 0))
    code = pytorch.build_script(choice.collective, nbytes, choice.dtype, root, shares)
    if code is None:
        return [CodePart("PyTorch", "", note=t("code.torch.none", dtype=choice.dtype))]
    nodes = 1
    if ranks % choice.copies == 0:
        nodes = choice.copies
    line = pytorch.launch(ranks, nodes, snippets.list_environment(choice, used))
    return [CodePart(t("code.torch"), code, "python", t("code.torch.note")), CodePart("torchrun", line)]


def _find_dispatch_shares(choice: Choice, used: dict[str, Any], ranks: int) -> tuple[float, ...]:
    """The share of each pair of ranks in an alltoallv that sends each token once to a rank."""
    options: dict[str, Any] = {name: option.default for name, option in list_own_options("dispatch_direct").items()}
    options |= used
    nodes, top_k = count_nodes(ranks, options["per_node"], build_topology(choice)), options["top_k"]
    visits = count_token_visits(nodes, ranks // nodes, options["local_experts"], top_k, options["max_nodes"])
    to_rank = sum(count * share for count, share in enumerate(visits, 1)) / len(visits)
    return (to_rank / (ranks * top_k),) * ranks**2


def build_step_torch_parts(step_code: pytorch.StepCode) -> list[CodePart]:
    """A step of training in PyTorch: the script, the lines that start it, and how to ask for NCCL; why there is none
    where PyTorch has no module for it.

    Args:
        step_code: Script, command and how to ask for NCCL, or why there is none.
    """
    if isinstance(step_code, cs.CollsimError):
        return [CodePart("PyTorch", "", note=step_code.text(get_language()))]
    code, line, by_hand = step_code
    # A product of strategies needs a device mesh, which has a note of its own.
    note = "code.torch.step.note"
    if "init_device_mesh" in code:
        note = "code.torch.product.note"
    parts = [CodePart(t("code.torch.step"), code, "python", t(note))]
    if "init_process_group" not in code:  # DataParallel: one process
        return [*parts, CodePart("python", line)]
    asking = (
        "import torch, torch.distributed as dist\n"
        "print(dist.is_nccl_available())\n"
        "print(torch.cuda.nccl.version() if dist.is_nccl_available() else None)"
    )
    return [
        *parts,
        CodePart(t("code.torch.env"), line),
        CodePart(t("code.torch.tcp"), by_hand),
        CodePart(t("code.torch.nccl"), asking, "python", t("code.torch.nccl.note")),
    ]


def build_megatron_parts(make: Callable[[], str]) -> CodePart:
    """The command line of Megatron-LM; why there is none for what it has not.

    Args:
        make: Writes the command line.
    """
    try:
        return CodePart("Megatron-LM", make())
    except cs.CollsimError as error:
        return CodePart("Megatron-LM", "", note=error.text(get_language()))


def _build_environment_parts(choice: Choice, used: dict[str, object]) -> list[CodePart]:
    settings = snippets.list_environment(choice, used)
    if snippets.count_node_gpus(choice):
        return [CodePart(t("code.environment"), snippets.write_exports(settings).rstrip())]
    return []


def _build_nccl_tests_parts(
    variants: list[tuple[Choice, dict[str, object]]], ranks: int, sizes: str | None = None
) -> CodePart:
    """nccl-tests, for each way that NCCL has itself."""
    lines = [
        line for choice, used in variants if (line := snippets.write_nccl_tests(choice, used, ranks, sizes)) is not None
    ]
    if lines:
        return CodePart(t("nccl"), "\n\n".join(lines), note=t("nccl.note"))
    choice = variants[0][0]
    if not snippets.count_node_gpus(choice):
        return CodePart(t("nccl"), "", note=t("nccl.nogpu"))
    names = ", ".join(label_algorithm(variant.algorithm, variant.collective) for variant, _ in variants)
    return CodePart(t("nccl"), "", note=t("nccl.none", name=f"{choice.collective} {names}"))
