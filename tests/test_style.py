"""How the code reads, in figures that may only get better: names, conditional expressions, `Any`, comments, docstrings.

`LIMITS` holds today's figures next to their goals. Lower a limit in the change that makes its figure smaller.
"""

import ast
import io
import re
import tokenize
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

#: First words of names of functions that count as verbs.
VERBS = frozenset(
    """
    add align allow analyse analyze append apply arrange as ask assert assign attach balance begin bind blend
    block book bound break bring broadcast build bundle calculate calibrate call can cancel cap cast change
    charge check choose clamp clean clear clip clone close collapse collect color colour combine compare
    compile complete compose compress compute configure connect consume contain continue convert copy correct
    count cover crawl create crop cut decide declare decode decompose deduce default define delete deliver
    derive describe detect determine disable discard dispatch display distribute divide do download draw drop
    dump edit embed emit enable encode end enforce enqueue ensure enter enumerate escape estimate evaluate
    exclude execute exit expand expect explain export express extend extract fail feed fetch fill filter find
    finish fit fix flatten flush fold follow force forget fork format forward free freeze from gather generate
    get give grade group grow guess handle has hash help hide highlight hold identify ignore import include
    increase index infer init initialise initialize inject insert inspect install interpolate interpret
    intersect invert invoke is iterate join keep label launch lay leave lift limit link list listen load
    locate lock log look lookup lower main make map mark mask match maximise maximize measure merge migrate
    minimise minimize mount move multiply name narrow needs new normalise normalize note notify number offer
    omit on open optimise optimize order overlap overwrite pack paint parse partition pass patch pause perform
    permute pick pin place plan play plot poll pop populate position post predict prepare present preserve
    press print process produce prompt propagate prove prune publish pull push put query quote raise rank read
    rebuild receive recompute record recover redirect reduce refine refresh refuse register reject relax
    release reload remove rename render reorder repeat replace replay report request require rescale reserve
    reset resize resolve respond restore restrict resume retrieve retry return reverse revert rotate round
    route run sample save scale scan schedule score search seed select send separate serialise serialize serve
    set settle share shift shorten should show shuffle shut sign simplify simulate skip slice slow smooth
    solve sort spawn specify split spread stack stage start stop store strip submit subtract sum summarise
    summarize suppress swap sweep switch synchronise synchronize synthesise synthesize take tell test time to
    toggle tokenise tokenize touch trace track train transfer transform translate transpose traverse trim
    truncate try turn undo unify unpack unregister update upgrade upload use validate verify view visit wait
    walk warn watch weigh widen with wrap write yield zip zoom
    """.split()  # noqa: SIM905 (one word a line is 350 lines)
)

#: Figure: (at most today, goal).
LIMITS = {
    "functions of one vague word": (0, 0),
    "parameters and variables of one vague word": (0, 0),
    "conditional expressions inside one another": (0, 0),
    "docstrings whose Args lack a parameter": (0, 0),
    "public functions without Args": (0, 0),
    "separators broken by a line": (0, 0),
    "comments behind a closing bracket": (0, 0),
}
#: Options that mean the same in every algorithm; the docstring of `schedule` describes them once.
COMMON_OPTIONS = frozenset(["n", "root", "chunks", "channels", "topology"])
#: Decorators of the event engine's kernels.
KERNELS = frozenset(["compile_kernel", "compile_inner", "compile_inlined"])
#: A 1,000 lines: (at most today, goal).
LIMITS_OF_LINES = {"conditional expressions": (6.6, 8), "Any": (5.2, 6)}
#: Free functions whose name begins with a verb, in percent: (at least today, goal).
MIN_VERBS = (93, 50)
#: Comments a 1,000 lines, above a line or behind it: (at least today, goal). Separators and marks for tools are none.
MIN_COMMENTS = (19.5, 20)
_NO_COMMENT = re.compile(r"#\s*(noqa|type:|mypy:|fmt:|pragma|-{3,})")
ENTRY = re.compile(r"^\s*\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?:\([^)]*\))?\s*:(?:\s|$)")


def documented_parameters(docstring, title="Args"):
    """Names in the section of parameters, or None where there is none."""
    section = re.search(rf"^[ \t]*{title}:[ \t]*\n", docstring, re.MULTILINE)
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


def decorators(function):
    """Names of its decorators: `property`, `command`."""
    nodes = [getattr(node, "func", node) for node in function.decorator_list]
    return {getattr(node, "id", getattr(node, "attr", "")) for node in nodes}


def begins_with_a_verb(function):
    name = function.name.strip("_")
    return name.split("_")[0] in VERBS or bool(re.match("on[A-Z_]", name))


def is_trivial(function):
    """Whether it has at most three statements, nested ones counted, and a docstring of one line."""
    docstring = ast.get_docstring(function)
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 2  # itself and its docstring
    return docstring is not None and "\n" not in docstring and statements <= 3


def public_functions(node):
    """(function, its class or None) of a module: no function inside a function, no method of a private class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not child.name.startswith("_") or child.name == "__init__":
                yield child, node if isinstance(node, ast.ClassDef) else None
        elif not (isinstance(child, ast.ClassDef) and child.name.startswith("_")):
            yield from public_functions(child)


def yields_steps(function):
    """Whether it is an algorithm."""
    returned = function.returns and ast.unparse(function.returns)
    return "algorithm" in decorators(function) or returned == "Iterator[Step]"


@cache
def kernel_parameters():
    """Parameters that all kernels of the event engine share: the package describes them once."""
    package = ast.parse((ROOT / "simulate" / "kernels" / "__init__.py").read_text(encoding="utf-8"))
    return documented_parameters(ast.get_docstring(package), "Shared parameters")


def shared_parameters(function, owner):
    """Parameters that the class of a method, or the package of a kernel, describes once for all; None without any."""
    if KERNELS & decorators(function):
        return kernel_parameters()
    return documented_parameters((owner and ast.get_docstring(owner)) or "", "Shared parameters")


def lacks_args(function, owner):
    """Whether a function or constructor has parameters and no Args section.

    Exempt are trivial functions, overloads, commands of the command line (each of their parameters has its own help,
    and the docstring is what `--help` prints), and algorithms with common options only, in the registry or as textbooks
    write them. A parameter whose name begins with an underscore is not used. Kernels and methods of a class whose
    docstring describes "Shared parameters" name all others in backticks.
    """
    if {"overload", "command"} & decorators(function):
        return False
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    names = {argument.arg for argument in named if argument and not argument.arg.startswith("_")} - {"self", "cls"}
    if not names or (yields_steps(function) and names <= COMMON_OPTIONS):
        return False
    docstrings = [ast.get_docstring(function) or ""]
    shared = shared_parameters(function, owner)
    if shared and names <= shared | set(re.findall(r"`(\w+)[`\[]", docstrings[0])):
        return False
    if function.name == "__init__":
        docstrings.append(ast.get_docstring(owner) or "")
    return all(documented_parameters(text) is None for text in docstrings) and not is_trivial(function)


@cache
def figures():
    counts = Counter()
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        counts["lines"] += len(lines)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        counts["comments"] += sum(
            token.type == tokenize.COMMENT and not _NO_COMMENT.match(token.string) for token in tokens
        )
        counts["separators broken by a line"] += sum(
            bool(re.match(r"\s*# -{3,}\s*\S.*[^-]\s*$", line) and re.match(r"\s*# -{3,}\s*$", following))
            for line, following in pairwise(lines)
        )
        # A formatter broke the statement to make room for the comment, which belongs above it.
        counts["comments behind a closing bracket"] += len(
            re.findall(r"^\s*[])}]+\S*  # (?!fmt|type|noqa)", text, re.MULTILINE)
        )
        tree = ast.parse(text)
        for function, owner in public_functions(tree):
            counts["public functions without Args"] += lacks_args(function, owner)
        methods = {method for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for method in node.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.IfExp):
                counts["conditional expressions"] += 1
                inner = (node.body, node.orelse, node.test)
                counts["conditional expressions inside one another"] += any(isinstance(n, ast.IfExp) for n in inner)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node not in methods and not {"property", "algorithm"} & decorators(node):
                    counts["free functions"] += 1
                    counts["free functions that begin with a verb"] += begins_with_a_verb(node)
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


@pytest.mark.parametrize("figure", LIMITS_OF_LINES)
def test_no_figure_of_lines_is_worse_than_before(figure):
    most, goal = LIMITS_OF_LINES[figure]
    assert most <= goal
    assert 1000 * figures()[figure] <= most * figures()["lines"], "`git diff` shows what was added"


def test_comments_are_as_many_as_before():
    least, goal = MIN_COMMENTS
    assert 1000 * figures()["comments"] >= least * figures()["lines"], (
        f"the goal is {goal}: say why where code is clever"
    )


def test_functions_begin_with_a_verb_as_often_as_before():
    least, goal = MIN_VERBS
    assert least >= goal
    assert 100 * figures()["free functions that begin with a verb"] >= least * figures()["free functions"]
