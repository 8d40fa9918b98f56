"""Which Python a page runs for a stranger: the part in which steps are written, and nothing that reaches out of it.

The code is read as a tree before any of it runs. Everything in it must be on the lists below: no import but numpy and
collsim's own step functions, no name or attribute that begins with an underscore, no attribute but those of arrays,
lists, sets and dicts. What passes can count, loop and yield; it has no way to a file, a process or a network. How long
and how much is the process's matter.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..package_data import read_toml

LONGEST = 12_000  # characters


_NAMES: dict[str, list[str]] = read_toml(__file__, "allowlist.toml")
STEPS = frozenset({"copy", "reduce", "repeat", "pipeline_chunks", "reverse", "together"})
_METHODS, _BUILTINS = frozenset(_NAMES["methods"]), frozenset(_NAMES["builtins"])
_MODULES = {"numpy": frozenset(_NAMES["arrays"]), "collsim": STEPS | {"algorithm"}}
_NODES = tuple(getattr(ast, name) for name in _NAMES["nodes"])


class Forbidden(Exception):
    """Something that is not run here. `key` and `values` are the text that says so; `line` counts from 1."""

    def __init__(self, key: str, line: int | None = None, **values: object):
        """An error about a line of a user's code.

        Args:
            key: Of the text that says why.
            line: From 1; None where no line is meant.
            values: Of the text.
        """
        super().__init__(f"{key}: {values}")
        self.key, self.line, self.values = key, line, values


@dataclass(frozen=True)
class Code:
    """Code that may run: its text, and the name of the function that yields the steps."""

    text: str
    function: str


def check_code(text: str) -> Code:
    """Check that all of a code is on the lists.

    Args:
        text: the code, as it was typed.

    Returns:
        The code, with the name of its last function.

    Raises:
        Forbidden: Something in it is not on the lists; with the line and the text that says so.

    Examples:
        >>> check_code("def my_ring(n): yield None").function
        'my_ring'
    """
    if len(text) > LONGEST:
        raise Forbidden("write.long", characters=f"{len(text):,}", limit=f"{LONGEST:,}")
    tree = _parse_tree(text)
    modules = _check_imports(tree)
    _check_module_names(tree, modules)
    for node in ast.walk(tree):
        _check_node(node, modules)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise Forbidden("write.nofunction")
    last = functions[-1]
    if not (last.args.args or last.args.posonlyargs or last.args.vararg):
        raise Forbidden("write.noargument", last.lineno, name=last.name[:40])
    return Code(text, last.name)


def _parse_tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise Forbidden("write.syntax", error.lineno, reason=str(error.msg)) from None
    except ValueError:  # a null byte
        raise Forbidden("write.syntax", None, reason="a character that Python cannot read") from None
    except (RecursionError, MemoryError):
        raise Forbidden("write.deep") from None


def _check_imports(tree: ast.Module) -> dict[str, frozenset[str]]:
    """Modules by the names under which the code knows them."""
    modules: dict[str, frozenset[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in _MODULES:
                    raise Forbidden("write.import", node.lineno, name=alias.name[:40])
                modules[alias.asname or alias.name] = _MODULES[alias.name]
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                known = _MODULES.get(node.module or "", frozenset())
            else:
                known = frozenset()
            for alias in node.names:
                if alias.name not in known:
                    raise Forbidden("write.import", node.lineno, name=f"{node.module or '.'}.{alias.name}"[:60])
    return modules


def _check_module_names(tree: ast.Module, modules: dict[str, frozenset[str]]) -> None:
    """A module is only ever seen left of a dot, and its name is never given to something else."""
    dotted = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in modules and id(node) not in dotted:
            raise Forbidden("write.name", node.lineno, name=node.id)
        bound = ""
        if isinstance(node, ast.arg):
            bound = node.arg
        elif isinstance(node, ast.FunctionDef):
            bound = node.name
        if bound in modules:
            raise Forbidden("write.name", getattr(node, "lineno", None), name=bound)


def _check_node(node: ast.AST, modules: dict[str, frozenset[str]]) -> None:
    line = getattr(node, "lineno", None)
    if not isinstance(node, _NODES):
        raise Forbidden("write.statement", line, name=_name_statement(node))
    for name in _list_names(node):
        if name.startswith("_") and name != "_":
            raise Forbidden("write.underscore", line, name=name[:40])
    if isinstance(node, ast.Attribute):
        module = None
        if isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
        if node.attr not in (_METHODS if module is None else module):
            raise Forbidden("write.attribute", line, name=_write_attribute(node))
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _REFUSED_BUILTINS:
        raise Forbidden("write.name", line, name=node.id)


def _write_attribute(node: ast.Attribute) -> str:
    """`a.b.c` as it was written, or its end where it is too long to be written again."""
    try:
        return ast.unparse(node)[:60]
    except RecursionError:
        return f"….{node.attr}"[:60]


def _list_names(node: ast.AST) -> list[str]:
    """Names that a node speaks of."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.keyword):
        return [node.arg or ""]
    if isinstance(node, ast.alias):
        return [node.name, node.asname or ""]
    if isinstance(node, ast.Nonlocal):
        return list(node.names)
    return []


def _name_statement(node: ast.AST) -> str:
    """`class`, `try`, `with`: a statement as people write it."""
    return type(node).__name__.removesuffix("Def").removeprefix("Async").lower()[:20]


def _list_refused_builtins() -> frozenset[str]:
    import builtins

    return frozenset(dir(builtins)) - _BUILTINS


_REFUSED_BUILTINS = _list_refused_builtins()
