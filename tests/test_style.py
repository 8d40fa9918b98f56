"""How the code reads, in figures that may only get better: names, conditional expressions, `Any`, docstrings.

`LIMITS` holds today's figures next to their goals. Lower a limit in the change that makes its figure smaller.
"""

import ast
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "collsim"

#: Words that say nothing about what a function returns or a variable holds.
VAGUE_FUNCTIONS = frozenset(
    [
        "said",
        "told",
        "asked",
        "shown",
        "listed",
        "held",
        "joined",
        "made",
        "named",
        "found",
        "given",
        "apart",
        "moved",
        "taken",
        "kept",
        "known",
        "meant",
        "seen",
        "left",
        "begun",
        "ended",
        "beside",
        "besides",
        "turns",
        "ways",
        "doors",
        "walls",
        "of",
        "at",
        "on",
        "one",
        "other",
        "others",
        "both",
        "all",
        "each",
        "such",
        "here",
        "there",
        "own",
        "way",
        "door",
        "wall",
        "turn",
        "said_of",
        "asked_of",
    ]
)
VAGUE_VARIABLES = frozenset(
    [
        "why",
        "found",
        "made",
        "given",
        "asked",
        "said",
        "told",
        "one",
        "place",
        "own",
        "those",
        "at",
        "shown",
        "held",
        "kept",
    ]
)

#: Figure: (at most today, goal).
LIMITS = {
    "functions of one vague word": (61, 0),
    "parameters and variables of one vague word": (932, 0),
    "conditional expressions inside one another": (17, 0),
    "conditional expressions": (1799, 760),
    "Any": (1600, 570),
    "docstrings whose Args lack a parameter": (41, 0),
    "separators broken by a line": (0, 0),
}
ENTRY = re.compile(r"^\s*\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?:\([^)]*\))?\s*:(?:\s|$)")


def documented_parameters(docstring):
    """Names in the Args section, or None where there is none."""
    section = re.search(r"^[ \t]*Args:[ \t]*\n", docstring, re.MULTILINE)
    if section is None:
        return None
    names, depth = set(), None
    for line in docstring[section.end() :].splitlines():
        indent = len(line) - len(line.lstrip())
        depth = indent if depth is None else depth
        if not line.strip() or indent < depth:
            break
        if indent == depth and (entry := ENTRY.match(line)):
            names |= {name.strip(" *") for name in entry[1].split(",")}
    return names


def lacks_a_parameter(function):
    names = documented_parameters(ast.get_docstring(function) or "")
    arguments = function.args
    expected = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return names is not None and bool(expected - {"self", "cls"} - names)


@cache
def figures():
    counts = Counter()
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        counts["separators broken by a line"] += sum(
            bool(re.match(r"\s*# -{3,}\s*\S.*[^-]\s*$", line) and re.match(r"\s*# -{3,}\s*$", following))
            for line, following in pairwise(lines)
        )
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.IfExp):
                counts["conditional expressions"] += 1
                inner = (node.body, node.orelse, node.test)
                counts["conditional expressions inside one another"] += any(isinstance(n, ast.IfExp) for n in inner)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                counts["functions of one vague word"] += node.name.strip("_") in VAGUE_FUNCTIONS
                counts["docstrings whose Args lack a parameter"] += node.name[0] != "_" and lacks_a_parameter(node)
            elif isinstance(node, ast.arg):
                counts["parameters and variables of one vague word"] += node.arg in VAGUE_VARIABLES
            elif isinstance(node, ast.Name):
                counts["Any"] += node.id == "Any"
                is_bound = isinstance(node.ctx, ast.Store)
                counts["parameters and variables of one vague word"] += is_bound and node.id in VAGUE_VARIABLES
    return counts


@pytest.mark.parametrize("figure", LIMITS)
def test_no_figure_of_style_is_worse_than_before(figure):
    most, goal = LIMITS[figure]
    assert goal <= most
    assert figures()[figure] <= most, f"the goal is {goal}; `git diff` shows what was added"
