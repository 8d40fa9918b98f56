"""Functions of articles that simulate a collective in one process, on the arrays of all nodes at once.

Such a function is called with arrays that say where each number of its result comes from. Where it does not do what its
name says, changes that are known to help are made and called in the same way; those that help are offered as fixes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import CollsimError, Sentence, Words, join_words
from ..package_data import read_toml
from .fixes import Fix, replace_statements

if TYPE_CHECKING:
    from .judge import ProgramRun

Kind = Literal["sum", "gather"]
#: What a function should do, by its name in lower case without underscores.
_KINDS: dict[str, Kind] = read_toml(__file__, "array_functions.toml")["kinds"]
#: Each node's buffer begins as its own block; and a ring in which a node's buffer goes to the next one.
_START = re.compile(r"for (?P<node>\w+) in .+:\n    (?P<buffers>\w+)\[(?P=node)\]\[:\] = (?P<blocks>\w+)\[(?P=node)\]")
_RING = re.compile(
    r"for (?P<step>\w+) in .+:\n    for (?P<node>\w+) in .+:\n"
    r" {8}(?P<name>\w+) = \((?P=node) \+ 1\) % (?P<nodes>.+)(?:\n {8}.+)+"
)
NODES = (2, 3, 4)  # numbers of nodes with which a function is called
_BASE = 1_000  # each block has a power of it, so that the digits of a sum are how often each block is in it


#: What calls each function with each number of nodes.
_CALL_VARIANTS = """
result = []
for variant in ({variants},):
    for nodes in {nodes}:
        try:
            result.append(variant({array}, nodes))
        except Exception:
            result.append(None)
"""


@dataclass(frozen=True)
class ArrayFunction:
    """A function that simulates a collective.

    Attributes:
        name: its name.
        kind: `sum`: all numbers of its result are the sum of the blocks; `gather`: each node has all blocks.
        has_count: whether its second parameter is the number of nodes.
    """

    name: str
    kind: Kind
    has_count: bool


@dataclass(frozen=True)
class ArrayReport:
    """What a function really does, and what makes it right.

    Attributes:
        sentence: says both.
        fixes: changed programs in which it does what its name says.
    """

    sentence: Sentence
    fixes: tuple[Fix, ...]


def find_array_function(functions: dict[str, tuple[str, ...]]) -> ArrayFunction | None:
    """The first function of a program whose name is that of a collective.

    Args:
        functions: the parameters of each function, by name.
    """
    for name, parameters in functions.items():
        kind = _KINDS.get(name.lower().replace("_", ""))
        if kind is not None and len(parameters) in (1, 2):
            return ArrayFunction(name, kind, len(parameters) == 2)
    return None


def report_array_function(
    function: ArrayFunction, source: str, run_source: Callable[[str, int], ProgramRun]
) -> ArrayReport | None:
    """Say what a function of one process does, and which change makes it do what its name says.

    Args:
        function: of the program.
        source: the program.
        run_source: runs a source as a script, on a number of ranks.

    Returns:
        The report; None where the function does what its name says, or cannot be called with such arrays.
    """
    tree = ast.parse(source)
    changes = list(_list_changes(source, tree, function))
    results = _call_all([source, *(changed for _, changed in changes)], function, run_source)
    if not results or _is_right(results[0], function.kind):
        return None
    fixes = []
    for (label, changed), result in zip(changes, results[1:], strict=True):
        if not _is_right(result, function.kind):
            continue
        # The changed program as it stands, not in the frame that calls variants: that is what a reader would paste.
        run = run_source(changed, max(NODES))
        if run.is_right:
            fixes.append(Fix(label, changed, NODES, run))
    sentence = _describe_counts(function, results[0])
    if fixes:
        message = "One change makes {name} right, as runs with {nodes} nodes show: {label}."
        change = Sentence(message, name=function.name, nodes=_list_numbers(NODES), label=fixes[0].label)
        if sentence is not None:
            change = Sentence("{reason} {fault}", reason=sentence, fault=change)
        sentence = change
    if sentence is None:
        return None
    return ArrayReport(sentence, tuple(fixes))


# ---- calls ---------------------------------------------------------------------------------------------------------


def _call_all(
    sources: Sequence[str], function: ArrayFunction, run_source: Callable[[str, int], ProgramRun]
) -> list[list[object]]:
    """The results of the function of each source, for each number of nodes; None for a call that fails."""
    # One program calls all variants: a process in the sandbox takes longer to start than all of them to run.
    try:
        run = run_source(_write_calls(sources, function), 1)
    except CollsimError:
        return []
    results = run.results[0]
    if not isinstance(results, list) or len(results) != len(sources) * len(NODES):
        return []
    return [results[start : start + len(NODES)] for start in range(0, len(results), len(NODES))]


def _write_calls(sources: Sequence[str], function: ArrayFunction) -> str:
    """A program that calls the function of each source with arrays that tell the blocks apart."""
    lines = ["import numpy"]
    for number, source in enumerate(sources):
        body = ast.parse(source).body
        if number == 0:
            lines += [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        # Each variant has its functions to itself, as helpers of all have the same names.
        lines.append(f"def variant_{number}(array, nodes):")
        functions = "\n".join(ast.unparse(node) for node in body if isinstance(node, ast.FunctionDef))
        lines += [f"    {line}" for line in functions.splitlines()]
        arguments = "array"
        if function.has_count:
            arguments = "array, nodes"
        lines.append(f"    return {function.name}({arguments})")
    array = f"numpy.array([[{_BASE} ** k] * nodes for k in range(nodes)])"
    # A function that is told the number of nodes is given one array, which it cuts into blocks: of two elements each.
    if function.kind == "sum" and function.has_count:
        array = f"numpy.repeat(numpy.array([{_BASE} ** k for k in range(nodes)]), 2)"
    variants = ", ".join(f"variant_{number}" for number in range(len(sources)))
    return "\n".join(lines) + _CALL_VARIANTS.format(variants=variants, nodes=NODES, array=array)


def _is_right(results: Sequence[object], kind: Kind) -> bool:
    return all(_is_one_right(result, nodes, kind) for result, nodes in zip(results, NODES, strict=True))


def _is_one_right(result: object, nodes: int, kind: Kind) -> bool:
    numbers = _read_numbers(result)
    blocks = [_BASE**k for k in range(nodes)]
    if numbers is None:
        return False
    if kind == "sum":
        return bool((numbers == sum(blocks)).all())
    expected = np.repeat(np.array(blocks, float), nodes)
    return numbers.size == nodes * expected.size and bool((numbers.reshape(nodes, -1) == expected).all())


def _read_numbers(result: object) -> np.ndarray | None:
    """All numbers of a result, one after another; None where it is anything else."""
    try:
        numbers = np.concatenate([np.asarray(part, float).reshape(-1) for part in _list_parts(result)])
    except (TypeError, ValueError):
        return None
    if not numbers.size:
        return None
    return numbers


def _list_parts(result: object) -> Iterator[object]:
    """The arrays of nested lists, which may differ in length."""
    if not isinstance(result, list):
        yield result
        return
    for part in result:
        yield from _list_parts(part)


def _describe_counts(function: ArrayFunction, results: Sequence[object]) -> Sentence | None:
    """How often each block is in a sum, where that is the same in all of it; None where it cannot be told."""
    numbers = _read_numbers(results[-1])
    if function.kind != "sum" or numbers is None or (numbers != numbers[0]).any():
        return None
    rest, counts = int(numbers[0]), []
    # A block counts once for each of its digits to the base, as long as none is there a thousand times.
    for _ in range(NODES[-1]):
        rest, count = divmod(rest, _BASE)
        counts.append(count)
    if rest:
        return None
    message = "The result of {name} has the {blocks} blocks {counts} times; in a sum each is once."
    return Sentence(message, name=function.name, blocks=NODES[-1], counts=_list_numbers(counts))


def _list_numbers(numbers: Sequence[int]) -> Words:
    """`8, 12, 14 and 15`."""
    *first, last = map(str, numbers)
    return Sentence("{first} and {then}", first=join_words(first), then=last)


# ---- changes -------------------------------------------------------------------------------------------------------


def _list_changes(source: str, tree: ast.Module, function: ArrayFunction) -> Iterator[tuple[Sentence, str]]:
    """Changed programs with what was changed."""
    definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function.name)
    yield from _leave_out_additions(source, definition)
    yield from _copy_shared_arrays(source, definition)
    yield from _pass_blocks_on(source, definition)


def _leave_out_additions(source: str, definition: ast.FunctionDef) -> Iterator[tuple[Sentence, str]]:
    """A loop that adds to blocks which it reads again in later turns adds them several times."""
    for loop in ast.walk(definition):
        if not isinstance(loop, ast.For):
            continue
        for position, statement in enumerate(loop.body):
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Subscript):
                rest = []
                if len(loop.body) == 1:
                    rest = ["pass"]
                label = Sentence("leave out line {line}", line=statement.lineno)
                yield label, replace_statements(source, loop.body, position, position, rest)


def _copy_shared_arrays(source: str, definition: ast.FunctionDef) -> Iterator[tuple[Sentence, str]]:
    """`[array] * n` is one array n times."""
    for position, statement in enumerate(definition.body):
        value = getattr(statement, "value", None)
        if (
            isinstance(statement, ast.Assign)
            and isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Mult)
            and isinstance(value.left, ast.List)
            and len(value.left.elts) == 1
        ):
            element, count = ast.unparse(value.left.elts[0]), ast.unparse(value.right)
            text = f"{ast.unparse(statement.targets[0])} = [{element}.copy() for _ in range({count})]"
            label = Sentence("give each node a copy (line {line})", line=statement.lineno)
            yield label, replace_statements(source, definition.body, position, position, [text])


def _pass_blocks_on(source: str, definition: ast.FunctionDef) -> Iterator[tuple[Sentence, str]]:
    """A ring in which each node keeps one place for all blocks: each block gets its own place, and a node passes on
    the one that came last."""
    starts, rings = (_match_statement(form, definition.body) for form in (_START, _RING))
    if starts is None or rings is None:
        return
    (first, start), (ring, target) = starts, rings
    inner, step = ring.body[0], target["step"]
    assert isinstance(inner, ast.For)
    lines = source.splitlines()
    if step == "_":
        step = "step"
        lines[ring.lineno - 1] = lines[ring.lineno - 1].replace("for _ in", "for step in", 1)
    statements = [
        f"block = ({target['node']} - {step}) % {target['nodes']}",
        f"{start['buffers']}[{target['name']}][block] = {start['buffers']}[{target['node']}][block]",
    ]
    # From the end on, so that the lines before keep their numbers.
    changed = replace_statements("\n".join(lines), inner.body, 1, len(inner.body) - 1, statements)
    own_block = f"{start['buffers']}[{start['node']}][{start['node']}] = {start['blocks']}[{start['node']}]"
    changed = replace_statements(changed, first.body, 0, 0, [own_block])
    label = Sentence(
        "each node keeps its own block in its place (line {first}), and passes on the block that came last "
        "(line {line})",
        first=first.body[0].lineno,
        line=inner.body[1].lineno,
    )
    yield label, changed


def _match_statement(form: re.Pattern[str], statements: Sequence[ast.stmt]) -> tuple[ast.For, re.Match[str]] | None:
    """The first loop that is written in a form, as `ast.unparse` writes it."""
    for statement in statements:
        if isinstance(statement, ast.For) and (match := form.fullmatch(ast.unparse(statement))) is not None:
            return statement, match
    return None
