"""The same as code, at the foot of every page: Python, command line, PyTorch, NCCL's environment and nccl-tests, ready
to copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.markup import escape_markdown

from ..scenario import custom_machine, pytorch, snippets
from ..scenario.choice import Choice
from ..scenario.custom_machine import OWN
from .controls import algorithm_label
from .notes import heading, note
from .session import language, t

_MOST_SIZES = 40


@dataclass(frozen=True)
class CodePart:
    """One piece of code under its name; `note` stands below it, or in its place where there is none."""

    title: str
    code: str
    language: str = "bash"
    note: str = ""


def draw(left: list[CodePart], right: list[CodePart], texts: tuple[str, ...] = ()) -> None:
    """Two columns of code; `texts` are the machines of one's own that the code reads from files."""
    for column, parts in zip(st.columns(2, gap="medium"), (left, right), strict=True):
        with column:
            for part in parts:
                _part(part)
    for text in dict.fromkeys(filter(None, texts)):
        name = custom_machine.facts(text).file
        st.download_button(escape_markdown(t("own.download", file=name)), text, name, "text/plain", on_click="ignore")


def _part(part: CodePart) -> None:
    heading(part.title)
    if part.code:
        st.code(part.code, language=part.language, wrap_lines=part.language == "bash")
    if part.note:
        note(part.note)


def of_run(choice: Choice, used: dict[str, Any], ranks: int) -> None:
    """Explore: one run."""
    left = [
        CodePart(t("python"), snippets.python(choice, used), "python"),
        *_torch(choice, [choice.nbytes], used, ranks),
    ]
    right = [
        CodePart(t("cli"), snippets.command(choice, used)),
        *_environment(choice, used),
        _tests([(choice, used)], ranks),
    ]
    draw(left, right, (choice.own if choice.place == OWN else "",))


def of_comparison(choice: Choice, pairs: list[tuple[str, dict[str, Any]]], ranks: int) -> None:
    """Compare: several algorithms over sizes."""
    names = tuple(dict.fromkeys(name for name, _ in pairs))
    ways = [(replace(choice, algorithm=name), _most_channels(pairs, name)) for name in names]
    sizes = [str(size) for size in cs.size_range(choice.sizes)][:_MOST_SIZES]
    left = [CodePart(t("python"), snippets.python_sweep(choice, pairs), "python"), *_torch(choice, sizes, {}, ranks)]
    right = [CodePart(t("cli"), snippets.command_sweep(choice, names)), _tests(ways, ranks, choice.sizes)]
    draw(left, right, (choice.own if choice.place == OWN else "",))


def _most_channels(pairs: list[tuple[str, dict[str, Any]]], name: str) -> dict[str, Any]:
    """Of the options that a comparison tries for an algorithm, those of a run that names no number."""
    tried = [options for n, options in pairs if n == name]
    return max(tried, key=lambda options: (options.get("channels", 1), -options.get("chunks", 1)))


def of_race(runners: list[tuple[Choice, dict[str, Any], int]]) -> None:
    """Race: a few runs, each with its options and its number of ranks."""
    first, used, ranks = runners[0]
    runs = [(one, options) for one, options, _ in runners]
    lines = "\n".join(snippets.command(one, options) for one, options in runs)
    left = [CodePart(t("python"), snippets.python_race(runs), "python"), *_torch(first, [first.nbytes], used, ranks)]
    right = [
        CodePart(t("cli"), lines),
        *(_tests([(one, options)], n) for one, options, n in runners if snippets.nccl_tests(one, options, n)),
    ]
    draw(left, right, tuple(one.own for one, _ in runs if one.place == OWN))


def of_change(
    before: Choice,
    after: Choice,
    changed: str,
    used: dict[str, Any],
    ranks: int,
    trouble: Mapping[str, Any],
    runs: int,
    beside: tuple[str, list[str]],
) -> None:
    """What-if: a run before and after; `changed` is the code of the machine after the change, of which `after` may say
    only a part.

    `trouble` are the further keywords of `simulate` after it; `runs`: so many with other jitter; `beside`: the lines of
    Python and the words of the command line for what runs at the same time.
    """
    lines = "\n".join(
        dict.fromkeys((snippets.command(before, used), snippets.command(after, used, trouble, beside[1])))
    )
    script = snippets.python_change(before, changed, used, trouble, runs, beside[0])
    left = [CodePart(t("python"), script, "python"), *_torch(after, [after.nbytes], used, ranks)]
    notes = [t("code.edits")] if changed != snippets.place(after) else []
    notes += [t("whatif.nocli")] if "background" in trouble else []
    right = [
        CodePart(t("cli"), lines, note=" ".join(notes)),
        *_environment(after, used),
        _tests([(after, used)], ranks),
    ]
    draw(left, right, (before.own if before.place == OWN else "",))


def of_synthesis(choice: Choice, used: dict[str, Any], changed: str = "", switches: bool = True) -> None:
    """Explore and What-if: what is synthesized, raced and written to a file; `changed` builds the machine after a
    change, which the command line has no words for."""
    script = snippets.python_synthesis(choice, used, changed, switches)
    left = [CodePart(t("python"), script, "python", t("synthesis.code.note"))]
    without = "" if switches else " --no-switches"
    line = f"{snippets.command(choice, used)} --synthesize{without} --out synthesized.xml"
    right = [CodePart(t("cli"), "", note=t("code.edits")) if changed else CodePart(t("cli"), line)]
    draw(left, right, (choice.own if choice.place == OWN else "",))


def of_way(choice: Choice, a: int, b: int, ranks: int) -> None:
    """Machines: the way from one rank to another."""
    hardware = "nvidia-smi topo -m\nnvidia-smi topo -p2p r\n" if snippets.gpus(choice) else "lstopo\n"
    left = [
        CodePart(t("python"), snippets.python_way(choice, a, b), "python"),
        *_torch(choice, [choice.nbytes], {}, ranks),
    ]
    right = [CodePart(t("cli"), snippets.command(choice, {})), CodePart(t("code.hardware"), hardware.rstrip())]
    draw(left, [*right, *_environment(choice, {})], (choice.own if choice.place == OWN else "",))


def _torch(choice: Choice, sizes: list[str], used: dict[str, Any], ranks: int) -> list[CodePart]:
    """A script and the line that starts it."""
    code = pytorch.script(
        choice.collective, [cs.units.parse_bytes(size) for size in sizes], choice.dtype, int(used.get("root", 0))
    )
    if code is None:
        return [CodePart("PyTorch", "", note=t("code.torch.none", dtype=choice.dtype))]
    nodes = choice.copies if ranks % choice.copies == 0 else 1
    line = pytorch.launch(ranks, nodes, snippets.environment(choice, used))
    return [CodePart(t("code.torch"), code, "python", t("code.torch.note")), CodePart("torchrun", line)]


def torch_of_step(told: tuple[str, str, str] | cs.CollsimError) -> list[CodePart]:
    """A step of training in PyTorch: the script, the lines that start it, and how to ask for NCCL; why there is none
    where PyTorch has no module for it."""
    if isinstance(told, cs.CollsimError):
        return [CodePart("PyTorch", "", note=told.text(language()))]
    code, line, by_hand = told
    note = "code.torch.product.note" if "init_device_mesh" in code else "code.torch.step.note"
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


def megatron(make: Callable[[], str]) -> CodePart:
    """The command line of Megatron-LM; why there is none for what it has not."""
    try:
        return CodePart("Megatron-LM", make())
    except cs.CollsimError as error:
        return CodePart("Megatron-LM", "", note=error.text(language()))


def _environment(choice: Choice, used: dict[str, Any]) -> list[CodePart]:
    settings = snippets.environment(choice, used)
    return [CodePart(t("code.environment"), snippets.exports(settings).rstrip())] if snippets.gpus(choice) else []


def _tests(ways: list[tuple[Choice, dict[str, Any]]], ranks: int, sizes: str | None = None) -> CodePart:
    """nccl-tests, for each way that NCCL has itself."""
    lines = [line for one, used in ways if (line := snippets.nccl_tests(one, used, ranks, sizes)) is not None]
    if lines:
        return CodePart(t("nccl"), "\n\n".join(lines), note=t("nccl.note"))
    one = ways[0][0]
    if not snippets.gpus(one):
        return CodePart(t("nccl"), "", note=t("nccl.nogpu"))
    names = ", ".join(algorithm_label(way.algorithm, way.collective) for way, _ in ways)
    return CodePart(t("nccl"), "", note=t("nccl.none", name=f"{one.collective} {names}"))
