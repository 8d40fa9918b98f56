"""The architecture holds: packages of a size, imports in one direction, one meaning for each name, functions that fit on
a screen."""

import ast
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent / "collsim"
FILES = sorted(
    path
    for path in ROOT.rglob("*")
    if path.suffix in (".py", ".js", ".css") and not {"__pycache__", "bundles"} & set(path.parts)
)
MODULES = [path for path in FILES if path.suffix == ".py"]
MAX_FILES, MAX_LINES, MAX_COLUMNS = 16, 60, 120

#: Folders that may hold more than 16 files, with the reason.
MANY_FILES = {
    "algorithms": "a registry: one algorithm, one file",
    "lessons/chapters": "a registry: one lesson, one file",
}
#: Functions that may be longer than 60 lines, with the reason.
LONG_FUNCTIONS = {
    "simulate/kernels/queue.py:run_until": "numba: a kernel calls only kernels, and a call with this many arrays is no shorter"
}
#: Names that say nothing, or say it with wit.
BAD_NAMES = re.compile(
    r"utils?|helpers?|managers?|common|misc|stuff|base|yards?|onward|elsewhere|besides?|tally|drill|evidence|told"
)


def relative_name(path):
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Module:
    """What the tests below ask of a module; its tree is not kept."""

    imports: tuple
    classes: tuple
    functions: tuple


@cache
def parse_module(path):
    found = {ast.Import: [], ast.ImportFrom: [], ast.ClassDef: [], ast.FunctionDef: [], ast.AsyncFunctionDef: []}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if type(node) in found:
            found[type(node)].append(node)
    return Module(
        imports=(*found[ast.ImportFrom], *found[ast.Import]),
        classes=tuple(node.name for node in found[ast.ClassDef]),
        functions=tuple(
            (node.name, node.end_lineno - node.lineno + 1 - docstring_lines(node))
            for node in (*found[ast.FunctionDef], *found[ast.AsyncFunctionDef])
        ),
    )


def docstring_lines(node):
    """Lines of a function's docstring: it has an entry for each parameter, and does not make the code harder to read."""
    if ast.get_docstring(node) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


# ---- packages ------------------------------------------------------------------------------------------------------


def count_files():
    """Files by folder; the `__init__` of a package does not count."""
    return Counter(path.parent.relative_to(ROOT).as_posix() for path in FILES if path.name != "__init__.py")


def test_no_folder_has_a_seventeenth_file():
    full = {folder: count for folder, count in count_files().items() if count > MAX_FILES and folder not in MANY_FILES}
    assert not full, full


def test_every_file_is_called_by_what_is_in_it():
    assert [relative_name(path) for path in FILES if BAD_NAMES.fullmatch(path.stem)] == []


# ---- imports -------------------------------------------------------------------------------------------------------


def node_of(path):
    """The node of a module in the graph: its folder; the `__init__` of a package and a module at the top stand for
    themselves."""
    if path.name == "__init__.py":
        return f"{relative_name(path.parent)} (__init__)"
    return relative_name(path) if path.parent == ROOT else relative_name(path.parent)


def absolute_name(node, path):
    """The module that a `from ... import` names, as a dotted name in parts."""
    package = ["collsim", *path.parent.relative_to(ROOT).parts]
    base = package[: len(package) - node.level + 1] if node.level else []
    return [*base, *(node.module.split(".") if node.module else [])]


def imported_names(path):
    """The modules of collsim that an import statement of this module may mean, longest names first."""
    for node in parse_module(path).imports:
        if isinstance(node, ast.ImportFrom):
            yield from ((*absolute_name(node, path), alias.name) for alias in node.names)
        else:
            yield from (tuple(alias.name.split(".")) for alias in node.names)


@cache
def file_of(name):
    """The file that a dotted name stands in, or None outside of collsim."""
    if name[0] != "collsim":
        return None
    for end in (len(name), len(name) - 1):
        path = ROOT.joinpath(*name[1:end])
        if path.with_suffix(".py").is_file() and end > 1:
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    return None


@cache
def graph():
    """Folders, and an arrow for every import from one to another; each arrow knows the modules it comes from."""
    arrows = defaultdict(set)
    for path in MODULES:
        for other in filter(None, map(file_of, imported_names(path))):
            if node_of(path) != node_of(other) and other != ROOT / "__init__.py":  # the public interface is for users
                arrows[node_of(path), node_of(other)].add(relative_name(path))
    imports = nx.DiGraph()
    imports.add_edges_from((a, b, {"by": sorted(by)}) for (a, b), by in arrows.items())
    return imports


def test_no_name_of_a_python_file_occurs_twice():
    hangs = ROOT / "programs" / "hangs"  # each program there has its twin that is fixed
    paths = [p for p in ROOT.rglob("*.py") if p.name != "__init__.py" and hangs not in p.parents]
    names = Counter(path.name for path in paths)
    assert len(names) > 600
    assert [name for name, count in names.items() if count > 1] == []


def test_folders_import_each_other_in_one_direction():
    imports = graph()
    circles = [sorted(part) for part in nx.strongly_connected_components(imports) if len(part) > 1]
    arrows = [(a, b, imports.edges[a, b]["by"][:3]) for circle in circles for a, b in imports.subgraph(circle).edges]
    assert not circles, arrows


#: Circles of modules that import one another inside a function, with the reason; none of them meets while it is imported.
LATE_CIRCLES = {
    "topology": "a Topology edits and explains itself",
    "simulate": "a Trace runs again for its counterfactuals",
    "train": "a StepTrace explains, exports and changes itself",
    "train/parallel": "a strategy multiplies into a product of strategies",
    "train/workload": "a model is read from torch, and a step builds the schedules of its collectives",
    "lab": "a measured trace explains its gap",
}


def is_checked_only(node):
    """Whether an `if` is for type checkers."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def late_names(path):
    """Names that a package imports at their first use, each with its module; the imports for type checkers list them."""
    blocks = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if is_checked_only(node)]
    return {
        alias.name: file_of((*module, alias.name))
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for module in [absolute_name(node, path)]
        for alias in node.names
    }


def imports_that_run(path, late):
    """The modules of collsim that a module imports; `late`: inside functions too."""
    waiting = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            module = absolute_name(node, path)
            for alias in node.names:
                other = file_of((*module, alias.name))
                yield from filter(None, (other, other and late_names(other).get(alias.name)))
        elif isinstance(node, ast.Import):
            yield from filter(None, (file_of(tuple(alias.name.split("."))) for alias in node.names))
        elif not is_checked_only(node) and (late or not isinstance(node, ast.FunctionDef | ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


@cache
def module_graph(late):
    """Modules, with an arrow for every import from one to another."""
    graph = nx.DiGraph((path, other) for path in MODULES for other in imports_that_run(path, late) if other != path)
    assert graph.has_edge(ROOT / "train/pipelines/pass_orders.py", ROOT / "train/pipelines/zero_bubble.py")
    assert graph.has_edge(ROOT / "inference/token_times.py", ROOT / "nccl/nccl_prediction.py"), (
        "a late name of a package"
    )
    return graph


def find_circles(graph):
    return [sorted(map(relative_name, part)) for part in nx.strongly_connected_components(graph) if len(part) > 1]


@pytest.mark.parametrize("late", [False, True])
def test_modules_import_each_other_in_no_circle(late):
    circles = find_circles(module_graph(late))
    folders = {name.rpartition("/")[0] for circle in circles for name in circle}
    assert folders == (LATE_CIRCLES.keys() if late else set()), circles


def test_no_package_imports_what_imports_it_first():
    """Python imports a package before the modules in it. One that imports its modules meanwhile waits for a thread that
    began with such a module, which waits for the package. `import collsim` is over before threads use it."""
    graph = module_graph(late=False).copy()
    graph.remove_nodes_from(nx.descendants(graph, ROOT / "__init__.py") | {ROOT / "__init__.py"})
    parents = [
        (path, (path.parent.parent if path.stem == "__init__" else path.parent) / "__init__.py") for path in graph
    ]
    graph.add_edges_from((path, parent) for path, parent in parents if parent in graph)
    assert graph.has_edge(ROOT / "nccl/nccl_prediction.py", ROOT / "nccl/__init__.py")
    assert find_circles(graph) == []


def test_the_graph_sees_the_imports():
    """The check would pass on an empty graph: these arrows are known to be there."""
    imports = graph()
    assert imports.has_edge("app/pages", "app/shell")
    assert imports.has_edge("app/main.py".rpartition("/")[0], "app/shell")
    assert imports.has_edge("simulate/kernels", "simulate/kernels (__init__)") or imports.has_edge(
        "simulate", "simulate/kernels"
    )


# ---- names ---------------------------------------------------------------------------------------------------------


def test_no_public_class_name_is_used_twice():
    found = defaultdict(list)
    for path in MODULES:
        for name in parse_module(path).classes:
            if not name.startswith("_"):
                found[name].append(relative_name(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def bound_names(body):
    """Names that the statements of a package give to something other than one of its modules."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom) and not (node.level == 1 and node.module is None):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from bound_names(ast.iter_child_nodes(node))


def test_no_name_of_a_package_hides_one_of_its_modules():
    """`import collsim.io.file_formats` gives the module. At the top, functions show the attributes of their module."""
    hidden = set()
    for path in MODULES:
        if path.name == "__init__.py":
            inside = {p.stem for p in path.parent.glob("*.py")} | {
                p.parent.name for p in path.parent.glob("*/__init__.py")
            }
            names = set(bound_names(ast.parse(path.read_text(encoding="utf-8")).body))
            hidden |= {(relative_name(path.parent), name) for name in names & inside}
    at_top = ("algorithms", "replay", "schedule", "simulate", "sweep", "verify")
    assert hidden == {(".", name) for name in at_top}


# ---- functions and lines -------------------------------------------------------------------------------------------


def lengths():
    for path in MODULES:
        yield from ((f"{relative_name(path)}:{name}", lines) for name, lines in parse_module(path).functions)


def test_every_function_fits_on_a_screen():
    long = {name: lines for name, lines in lengths() if lines > MAX_LINES}
    assert long.keys() <= LONG_FUNCTIONS.keys(), {name: long[name] for name in long.keys() - LONG_FUNCTIONS.keys()}


def test_every_function_that_may_be_longer_still_is():
    long = {name for name, lines in lengths() if lines > MAX_LINES}
    assert [name for name in LONG_FUNCTIONS if name not in long] == []


#: A line that opens a function; the wrapper round a whole script, which begins with a parenthesis, is none.
_OPENS = re.compile(r"^(\s*)[^\s(].*(?:\bfunction\b|=>|^\s*(?:async\s+)?\w+\([^)]*\)).*\{$")


def javascript_lengths(path):
    """Lines of each function of a module, as it is formatted: from the line that opens it to the brace under its
    beginning."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if found := _OPENS.match(line):
            closed = f"{found[1]}}}"
            end = next((k for k in range(number + 1, len(lines)) if lines[k].startswith(closed)), number)
            yield f"{relative_name(path)}:{number + 1}", end - number + 1


def test_every_function_in_javascript_fits_on_a_screen():
    of_all = [found for path in FILES if path.suffix == ".js" for found in javascript_lengths(path)]
    assert len(of_all) > 100, "the functions are not seen"
    assert [(name, lines) for name, lines in of_all if lines > MAX_LINES] == []


def test_lines_have_at_most_120_columns():
    long = [
        f"{relative_name(path)}:{number}"
        for path in FILES
        if path.suffix in (".py", ".js")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MAX_COLUMNS
    ]
    assert long == []
