"""The same as code, at the foot of every page: Python, command line, PyTorch, NCCL's environment and nccl-tests, ready
to copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.collective import build_pair_shares
from collsim.display.markup import escape_markdown

from ..scenario import custom_machine, pytorch, snippets
from ..scenario.choice import Choice
from ..scenario.custom_machine import OWN
from .controls import label_algorithm
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


def draw(left: list[CodePart], right: list[CodePart], texts: tuple[str, ...] = ()) -> None:
    """Draw two columns of code, and below them the files that it reads.

    Args:
        left: Parts in the left column.
        right: Parts in the right column.
        texts: Machines of one's own that the code reads from files, each as the text of its file.
    """
    for column, parts in zip(st.columns(2, gap="medium"), (left, right), strict=True):
        with column:
            for part in parts:
                _draw_part(part)
    for text in dict.fromkeys(filter(None, texts)):
        name = custom_machine.read_facts(text).file
        st.download_button(escape_markdown(t("own.download", file=name)), text, name, "text/plain", on_click="ignore")


def draw_expander(
    script: str,
    command: str,
    left: Sequence[CodePart] = (),
    right: Sequence[CodePart] = (),
    note: str = "",
    texts: tuple[str, ...] = (),
) -> None:
    """Draw what a page does as code, folded: Python on the left, the command line on the right.

    Args:
        script: Python that prints the same figures.
        command: The command that prints them.
        left: Further parts of the left column.
        right: Further parts of the right column.
        note: Written below the command.
        texts: As in `draw`.
    """
    with st.expander(t("code.title")):
        draw([CodePart(t("python"), script, "python"), *left], [CodePart(t("cli"), command, note=note), *right], texts)


def _draw_part(part: CodePart) -> None:
    draw_heading(part.title)
    if part.code:
        st.code(part.code, language=part.language, wrap_lines=part.language == "bash")
    if part.note:
        draw_note(part.note)
    if snippets.EDITED_FILE in part.code and part.language == "bash" and t("code.edits") not in part.note:
        draw_note(t("code.edits"))


def draw_run_code(choice: Choice, used: dict[str, object], ranks: int) -> None:
    """Explore: one run.

    Args:
        choice: The run that is chosen.
        used: Options of the run, channels included.
        ranks: Number of ranks.
    """
    left = [
        CodePart(t("python"), snippets.write_python(choice, used), "python"),
        *_build_torch_parts(choice, [choice.nbytes], used, ranks),
    ]
    right = [
        CodePart(t("cli"), snippets.write_command(choice, used)),
        *_build_environment_parts(choice, used),
        _build_nccl_tests_parts([(choice, used)], ranks),
    ]
    draw(left, right, (choice.own_text,))


def draw_comparison_code(choice: Choice, pairs: list[tuple[str, dict[str, object]]], ranks: int) -> None:
    """Compare: several algorithms over sizes.

    Args:
        choice: The run that is chosen.
        pairs: Algorithms with the options that are tried of each.
        ranks: Number of ranks.
    """
    names = tuple(dict.fromkeys(name for name, _ in pairs))
    variants = [(replace(choice, algorithm=name), _find_most_channels(pairs, name)) for name in names]
    sizes = [str(size) for size in cs.size_range(choice.sizes)][:_MAX_SIZES]
    left = [
        CodePart(t("python"), snippets.write_sweep_python(choice, pairs), "python"),
        *_build_torch_parts(choice, sizes, {}, ranks),
    ]
    right = [
        CodePart(t("cli"), snippets.write_sweep_command(choice, names)),
        _build_nccl_tests_parts(variants, ranks, choice.sizes),
    ]
    draw(left, right, (choice.own_text,))


def _find_most_channels(pairs: list[tuple[str, dict[str, Any]]], name: str) -> dict[str, Any]:
    """Of the options that a comparison tries for an algorithm, those of a run that names no number."""
    tried = [options for n, options in pairs if n == name]
    return max(tried, key=lambda options: (options.get("channels", 1), -options.get("chunks", 1)))


def draw_race_code(runners: list[tuple[Choice, dict[str, object], int]]) -> None:
    """Race: a few runs, each with its options and its number of ranks.

    Args:
        runners: The runs of the race, each with its options and its number of ranks.
    """
    first, used, ranks = runners[0]
    runs = [(runner, options) for runner, options, _ in runners]
    lines = "\n".join(snippets.write_command(runner, options) for runner, options in runs)
    left = [
        CodePart(t("python"), snippets.write_race_python(runs), "python"),
        *_build_torch_parts(first, [first.nbytes], used, ranks),
    ]
    right = [
        CodePart(t("cli"), lines),
        *(
            _build_nccl_tests_parts([(runner, options)], n)
            for runner, options, n in runners
            if snippets.write_nccl_tests(runner, options, n)
        ),
    ]
    draw(left, right, tuple(runner.machine_text for runner, _ in runs if runner.machine == OWN))


def draw_change_code(
    before: Choice,
    after: Choice,
    changed: str,
    used: dict[str, object],
    ranks: int,
    conditions: Mapping[str, object],
    runs: int,
    beside: tuple[str, list[str]],
) -> None:
    """What-if: a run before and after a change.

    Args:
        before: The run before the change.
        after: The run after the change; it may say only a part of what was changed of the machine.
        changed: Code that builds the machine after the change.
        used: Options of the run, channels included.
        ranks: Number of ranks.
        conditions: Faults as keywords of `simulate`.
        runs: Number of runs that differ in their jitter.
        beside: Code for what runs at the same time, and its words of the command.
    """
    lines = "\n".join(
        dict.fromkeys(
            (snippets.write_command(before, used), snippets.write_command(after, used, conditions, beside[1]))
        )
    )
    script = snippets.write_change_python(before, changed, used, conditions, runs, beside[0])
    left = [CodePart(t("python"), script, "python"), *_build_torch_parts(after, [after.nbytes], used, ranks)]
    notes = []
    if changed != snippets.write_machine(after):
        notes = [t("code.edits")]
    if "background" in conditions:
        notes += [t("whatif.nocli")]
    right = [
        CodePart(t("cli"), lines, note=" ".join(notes)),
        *_build_environment_parts(after, used),
        _build_nccl_tests_parts([(after, used)], ranks),
    ]
    draw(left, right, (before.own_text,))


def draw_synthesis_code(choice: Choice, used: dict[str, object], changed: str = "", switches: bool = True) -> None:
    """Explore and What-if: what is synthesized, raced and written to a file; `changed` builds the machine after a
    change, which the command line has no words for.

    Args:
        choice: The run that is chosen.
        used: Options of the run, channels included.
        changed: Code that builds the machine after the change.
        switches: Whether switches of the machine that reduce may be used.
    """
    script = snippets.write_synthesis_python(choice, used, changed, switches)
    left = [CodePart(t("python"), script, "python", t("synthesis.code.note"))]
    without = " --no-switches"
    if switches:
        without = ""
    line = f"{snippets.write_command(choice, used)} --synthesize{without} --out synthesized.xml"
    right = [CodePart(t("cli"), line)]
    if changed:
        right = [CodePart(t("cli"), "", note=t("code.edits"))]
    draw(left, right, (choice.own_text,))


def draw_route_code(choice: Choice, a: int, b: int, ranks: int) -> None:
    """Machines: the way from one rank to another.

    Args:
        choice: The run that is chosen.
        a: The rank at which the route begins.
        b: The rank at which it ends.
        ranks: Number of ranks.
    """
    hardware = "lstopo\n"
    if snippets.count_node_gpus(choice):
        hardware = "nvidia-smi topo -m\nnvidia-smi topo -p2p r\n"
    left = [
        CodePart(t("python"), snippets.write_route_python(choice, a, b), "python"),
        *_build_torch_parts(choice, [choice.nbytes], {}, ranks),
    ]
    right = [CodePart(t("cli"), snippets.write_command(choice, {})), CodePart(t("code.hardware"), hardware.rstrip())]
    draw(left, [*right, *_build_environment_parts(choice, {})], (choice.own_text,))


def _build_torch_parts(choice: Choice, sizes: list[str], used: dict[str, Any], ranks: int) -> list[CodePart]:
    """A script and the line that starts it."""
    shares = None
    if choice.collective == "alltoallv":
        shares = build_pair_shares(ranks, used.get("load", "zipf"), used.get("amounts"))
    code = pytorch.build_script(
        choice.collective,
        [cs.units.parse_bytes(size) for size in sizes],
        choice.dtype,
        int(used.get("root", 0)),
        shares,
    )
    if code is None:
        return [CodePart("PyTorch", "", note=t("code.torch.none", dtype=choice.dtype))]
    nodes = 1
    if ranks % choice.copies == 0:
        nodes = choice.copies
    line = pytorch.launch(ranks, nodes, snippets.list_environment(choice, used))
    return [CodePart(t("code.torch"), code, "python", t("code.torch.note")), CodePart("torchrun", line)]


def build_step_torch_parts(step_code: tuple[str, str, str] | cs.CollsimError) -> list[CodePart]:
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
