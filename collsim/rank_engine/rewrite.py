"""Rank programs as generators: every function of a program is rewritten so that a call may suspend its rank.

N ranks run in one thread and take turns. A rank stops where it waits for a message, which may be many calls below its
own function; so each function of the program becomes a generator, and each call `f(a)` becomes
`(yield from call(f, a))`. The generators of a waiting rank form its call stack, with the line of each frame. Threads
would not do: the sandbox starts none, and one that was started before stays outside of Landlock.

What Python calls by itself cannot suspend: the body of a class, special methods such as `__eq__`, and the program's own
generators. Their calls become `call_now(f, a)`, which refuses to wait.

Each turn of a loop and each call of a function of the program counts its steps, so that what never ends is stopped
after so many of them, whatever exceptions it catches.

Line numbers are those of the source, because every new node takes the place of the one that it replaces.
"""

from __future__ import annotations
import __future__

import ast
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import CollsimError
from .pasted_source import describe_syntax_error
from .stand_ins.internal_names import require_plain_name

_FILE_NAME = "<program>"  # in tracebacks
#: The name of the function that holds the statements of a module.
MODULE_FUNCTION = "module_of_program"
#: Names in the rewritten code that the engine supplies.
CALL, CALL_NOW, AWAIT, COROUTINE, IMPORT_ALL = "call__", "call_now__", "await__", "coroutine__", "import_all__"
ENTER, EXIT, GENERATOR, COUNT = "enter__", "exit__", "generator__", "count_steps__"
_RESERVED = re.compile(
    rf"\b({'|'.join((CALL, CALL_NOW, AWAIT, COROUTINE, IMPORT_ALL, ENTER, EXIT, GENERATOR, COUNT, MODULE_FUNCTION))})\b"
)
_STEPS_OF_CALL = 10  # a call through the engine takes about ten times as long as a turn of a loop that only adds
#: Special methods that only `call`, `enter` and `exit` of the engine call, so that they may wait.
_DRIVEN_METHODS = ("__init__", "__call__", "__enter__", "__exit__")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SUITES = ("body", "orelse", "finalbody")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COUNTED = (ast.For, ast.While, ast.FunctionDef)  # that what is in them is repeated


@dataclass(frozen=True)
class RewrittenProgram:
    """A program whose functions are generators.

    Attributes:
        code: the module; running it defines `MODULE_FUNCTION`, which holds the statements of the program.
        codes: all code objects of the program, by which its generators and frames are known.
        functions: the parameters of every function at the top of the module, by name, in order.
        imports: names of the modules that the program imports.
        is_script: whether its statements do something besides defining names.
        has_main: whether it says what to do where it is run as a script, under `if __name__ == "__main__"`.
        runs_functions: whether its statements outside of that use functions at the top of the module.
    """

    code: types.CodeType
    codes: frozenset[types.CodeType]
    functions: dict[str, tuple[str, ...]]
    imports: frozenset[str]
    is_script: bool
    has_main: bool
    runs_functions: bool

    @property
    def uses_torch(self) -> bool:
        """Whether it imports torch or a part of it, so that its data are tensors."""
        return self.library == "torch"

    @property
    def library(self) -> str:
        """The library that its messages are sent with: `torch`, `mpi4py`, or nothing."""
        names = {name.partition(".")[0] for name in self.imports}
        return next((library for library in ("torch", "mpi4py") if library in names), "")


def rewrite(source: str) -> RewrittenProgram:
    """Rewrite a program so that each of its functions is a generator.

    Args:
        source: Python source.

    Returns:
        The program, compiled.

    Raises:
        CollsimError: for a syntax error, and for a construct that a suspended rank cannot resume, with its line.

    Examples:
        >>> from collsim.rank_engine.rewrite import rewrite
        >>> rewrite("def run(rank, size):\\n    return rank").functions
        {'run': ('rank', 'size')}
    """
    try:
        compile(source, _FILE_NAME, "exec", dont_inherit=True)  # finds what a parser does not, such as a return outside
        tree = ast.parse(source, _FILE_NAME)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        message = str(getattr(error, "msg", error))
        raise CollsimError(describe_syntax_error(source, line, message, isinstance(error, IndentationError))) from None
    except (RecursionError, MemoryError):
        raise CollsimError("the program is nested too deeply") from None
    if name := _RESERVED.search(source):
        line = source.count("\n", 0, name.start()) + 1
        raise CollsimError(
            "line {line}: the engine uses the name {name} itself; choose another one", line=line, name=name[0]
        )
    functions = {
        node.name: tuple(arg.arg for arg in (*node.args.posonlyargs, *node.args.args))
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    imports = frozenset(_list_imports(tree))
    is_script = any(_does_something(node) for node in tree.body)
    has_main = any(_is_main(node) and any(isinstance(part, ast.Call) for part in ast.walk(node)) for node in tree.body)
    runs_functions = any(_does_something(node) and _list_names(node) & functions.keys() for node in tree.body)
    flags = 0
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        # Such an import must come first in a module, and the module becomes a function.
        tree.body = [n for n in tree.body if not (isinstance(n, ast.ImportFrom) and n.module == "__future__")]
        flags = __future__.annotations.compiler_flag
    tree.body = [_wrap_module(tree.body)]
    _Rewriter().visit(tree)
    code = compile(ast.fix_missing_locations(tree), _FILE_NAME, "exec", flags, dont_inherit=True)
    return RewrittenProgram(code, frozenset(_walk_codes(code)), functions, imports, is_script, has_main, runs_functions)


def _does_something(node: ast.stmt) -> bool:
    """Whether a statement of a module is more than a definition, an import, a constant, or what a launcher runs."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    if _is_main(node):
        return False
    return any(isinstance(part, ast.Call | ast.For | ast.While) for part in ast.walk(node))


def _list_names(node: ast.stmt) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_main(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _list_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _walk_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _walk_codes(constant)


# ---- the module --------------------------------------------------------------------------------------------------


def _wrap_module(body: list[ast.stmt]) -> ast.FunctionDef:
    """The statements of a module as a function whose variables are global, so that they can suspend, too."""
    body = body or [ast.Pass(lineno=1, col_offset=0)]
    _remove_annotations(body)
    first = body[0]
    names = sorted(_list_bound_names(body))
    statements: list[ast.stmt] = []
    if names:
        statements.append(ast.copy_location(ast.Global(names), first))
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef(MODULE_FUNCTION, arguments, [*statements, *body], [])
    return ast.copy_location(function, first)


def _remove_annotations(body: list[ast.stmt]) -> None:
    """Make plain assignments of annotated ones, also in blocks of the module: a global variable has no annotation."""
    pending: list[list[Any]] = [body]
    while pending:
        statements = pending.pop()
        for position, node in enumerate(statements):
            if isinstance(node, ast.AnnAssign):
                plain: ast.stmt = ast.Pass()
                if node.value is not None:
                    plain = ast.Assign([node.target], node.value)
                statements[position] = ast.copy_location(plain, node)
            elif not isinstance(node, _SCOPES):
                blocks = (getattr(node, field, None) for field in (*_SUITES, "handlers", "cases"))
                pending += [block for block in blocks if isinstance(block, list)]


def _list_bound_names(body: list[ast.stmt]) -> set[str]:
    """Names that statements of a module bind, not those inside of functions, classes and comprehensions."""
    names: set[str] = set()
    # Walked with a list: sources may be nested deeper than Python's recursion allows.
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, (*_COMPREHENSIONS, ast.Lambda)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names if alias.name != "*")
        pending.extend(ast.iter_child_nodes(node))
    return names


# ---- functions, calls and comprehensions ---------------------------------------------------------------------------


class _Rewriter(ast.NodeTransformer):
    """Turns functions into generators and calls into `yield from`."""

    def __init__(self) -> None:
        self._hoisted: list[ast.stmt] = []  # functions for comprehensions of the statement that is being rewritten
        self._count = 0
        self._can_wait = True  # whether the code that is being rewritten may suspend its rank
        self._is_in_lambda = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.AsyncFor | ast.AsyncWith):
            raise _refuse(node, "async for and async with")
        if any(isinstance(getattr(node, suite, None), list) for suite in _SUITES) and not isinstance(node, _SCOPES):
            self._rewrite_suites(node)
        return super().visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        require_plain_name(node.attr, node.lineno)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        require_plain_name(node.id, node.lineno)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        for name in node.kwd_attrs:
            require_plain_name(name, node.lineno)
        return self.generic_visit(node)

    def _rewrite_suites(self, node: ast.AST) -> None:
        """Rewrite each statement of a block, with the functions for its comprehensions before it."""
        count = []
        if isinstance(node, _COUNTED):  # now, as the calls are still those of the source
            count = [_build_count(node)]
        for suite in _SUITES:
            body = getattr(node, suite, None)
            if not isinstance(body, list):
                continue
            statements: list[ast.stmt] = []
            if suite == "body":
                statements += count
            for statement in body:
                # Functions that stand for comprehensions belong before the statement that uses them.
                outer, self._hoisted = self._hoisted, []
                rewritten = self.visit(statement)
                if not isinstance(rewritten, list):
                    rewritten = [rewritten]
                statements += [*self._hoisted, *rewritten]
                self._hoisted = outer
            setattr(node, suite, statements)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if field in _SUITES and isinstance(value, list):
                continue  # rewritten by `_rewrite_suites`
            if isinstance(value, list):
                value[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    # ---- functions and classes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt | list[ast.stmt]:
        is_special = node.name.startswith("__") and node.name.endswith("__")
        is_generator = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _walk_function(node))
        can_wait = not is_generator and not (is_special and node.name not in _DRIVEN_METHODS)
        self.generic_visit(node)  # the decorators and defaults, which stand outside of it
        self._rewrite_scope(node, can_wait)
        if can_wait:
            node.body.insert(0, _make_generator_mark(node))
        statements = self._apply_decorators(node)
        if is_generator:
            node.decorator_list.append(ast.copy_location(ast.Name(GENERATOR, ast.Load()), node))
        return statements

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt | list[ast.stmt]:
        if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _walk_function(node)):
            raise _refuse(node, "an asynchronous generator")
        plain = ast.copy_location(ast.FunctionDef(node.name, node.args, node.body, node.decorator_list), node)
        rewritten = self.visit_FunctionDef(plain)
        plain.decorator_list.append(ast.copy_location(ast.Name(COROUTINE, ast.Load()), node))
        return rewritten

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        self._rewrite_scope(node, can_wait=False)
        return self._apply_decorators(node)

    def _rewrite_scope(self, node: ast.FunctionDef | ast.ClassDef, can_wait: bool) -> None:
        outer = self._can_wait, self._is_in_lambda
        self._can_wait, self._is_in_lambda = can_wait, False
        self._rewrite_suites(node)
        self._can_wait, self._is_in_lambda = outer

    def _apply_decorators(self, node: ast.FunctionDef | ast.ClassDef) -> ast.stmt | list[ast.stmt]:
        """`@f def g` as `g = f(g)`, since `f` may be a function of the program; `f` is evaluated before `g` is."""
        if not node.decorator_list:
            return node
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        names = []
        for decorator in node.decorator_list:
            names.append(self._make_name("decorator"))
            before.append(_assign(names[-1], decorator, decorator))
        for name, decorator in zip(reversed(names), reversed(node.decorator_list), strict=True):
            args: list[ast.expr] = [ast.Name(name, ast.Load()), ast.Name(node.name, ast.Load())]
            after.append(_assign(node.name, self._build_call(decorator, CALL, args, []), decorator))
        after.append(ast.copy_location(ast.Delete([ast.Name(name, ast.Del()) for name in names]), node))
        node.decorator_list = []
        return [*before, node, *after]

    def _make_name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}__"

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        outer, self._is_in_lambda = self._is_in_lambda, True
        self.generic_visit(node)
        self._is_in_lambda = outer
        return node

    # ---- calls

    def visit_Await(self, node: ast.Await) -> ast.AST:
        return _yield_from(node, AWAIT, [self.visit(node.value)], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node  # it looks at the frame that calls it
        self.generic_visit(node)
        return self._build_call(node, CALL, [node.func, *node.args], node.keywords)

    def _build_call(self, node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        """A call of a function of the engine that may suspend the rank; where it must not, through `call_now`."""
        if self._can_wait:
            return _yield_from(node, name, args, keywords)
        if name != CALL:
            args = [ast.copy_location(ast.Name(name, ast.Load()), node), *args]
        function = ast.copy_location(ast.Name(CALL_NOW, ast.Load()), node)
        return ast.copy_location(ast.Call(function, args, keywords), node)

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        """`with a as b: ...` as calls of `__enter__` and `__exit__`, as either may wait: that of a lock does."""
        body = node.body  # has been rewritten
        for item in reversed(node.items):
            body = self._build_with(node, item, body)
        return body

    def _build_with(self, node: ast.With, item: ast.withitem, body: list[ast.stmt]) -> list[ast.stmt]:
        manager, error, is_clean = (self._make_name(stem) for stem in ("manager", "error", "is_clean"))

        def leave(value: ast.expr) -> ast.expr:
            return self._build_call(item.context_expr, EXIT, [ast.Name(manager, ast.Load()), value], [])

        entered = self._build_call(item.context_expr, ENTER, [ast.Name(manager, ast.Load())], [])
        enter: ast.stmt = ast.Expr(entered)
        if item.optional_vars is not None:
            enter = ast.Assign([self.visit(item.optional_vars)], entered)
        # The manager's exit may block, and so is a call of its own instead of a `with` statement.
        handler = ast.ExceptHandler(
            ast.Name("BaseException", ast.Load()),
            error,
            [
                ast.Assign([ast.Name(is_clean, ast.Store())], ast.Constant(False)),
                ast.If(ast.UnaryOp(ast.Not(), leave(ast.Name(error, ast.Load()))), [ast.Raise()], []),
            ],
        )
        last = ast.If(ast.Name(is_clean, ast.Load()), [ast.Expr(leave(ast.Constant(None)))], [])
        statements = [
            ast.Assign([ast.Name(manager, ast.Store())], self.visit(item.context_expr)),
            enter,
            ast.Assign([ast.Name(is_clean, ast.Store())], ast.Constant(True)),
            ast.Try(body, [handler], [], [last]),
        ]
        for statement in statements:
            _place(statement, item.context_expr)
        return statements

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if any(alias.name == "*" for alias in node.names):
            name = ast.Constant(node.module or "")
            call = ast.Call(ast.Name(IMPORT_ALL, ast.Load()), [name], [])
            return ast.copy_location(ast.Expr(call), node)
        return node

    # ---- comprehensions

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._rewrite_comprehension(node, "list")

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._rewrite_comprehension(node, "set")

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._rewrite_comprehension(node, "dict")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        # Evaluated at once: taking its items one by one would suspend the rank inside of whatever takes them.
        return self._rewrite_comprehension(node, "list")

    def _rewrite_comprehension(self, node: ast.AST, kind: str) -> ast.AST:
        """A comprehension with calls becomes a function that fills a list, a set or a dict, and a call of it."""
        if not any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(node)):
            return _count_comprehension(node)
        # The function would stand before the statement, where a lambda's parameters do not exist, and `:=` in it would
        # bind a variable of its own.
        is_bound_here = self._is_in_lambda or any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
        if not self._can_wait or is_bound_here:
            outer_can_wait, self._can_wait = self._can_wait, False
            self.generic_visit(node)
            self._can_wait = outer_can_wait
            return _count_comprehension(node)
        # A comprehension is a scope of its own, in which `yield` is a syntax error since Python 3.8.
        function = _build_comprehension_function(node, kind, self._make_name("comprehension"))
        outer, self._hoisted = self._hoisted, []
        rewritten = self.visit(ast.fix_missing_locations(function))
        self._hoisted = [*outer, rewritten]
        call = ast.Call(ast.Name(function.name, ast.Load()), [], [])
        return _yield_from(ast.copy_location(call, node), CALL, [call.func], [])


def _assign(name: str, value: ast.expr, at_node: ast.AST) -> ast.stmt:
    return _place(ast.Assign([ast.Name(name, ast.Store())], value), at_node)


def _place(statement: ast.stmt, at_node: ast.AST) -> ast.stmt:
    """A new statement with the line of another node, where its parts have none of their own."""
    for part in ast.walk(statement):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, at_node)
    return statement


def _refuse(node: ast.AST, construct: str) -> CollsimError:
    message = "line {line}: {construct} cannot be run here; write it as plain statements"
    return CollsimError(message, line=getattr(node, "lineno", 0), construct=construct)


def _walk_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside of it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


def _count_steps(node: ast.AST) -> int:
    """The steps of one turn of a loop, or of one call of a function: 1, and more for each call in it; what is in loops
    and functions inside of it counts there."""
    steps = 1
    pending: list[ast.AST] = list(getattr(node, "body", ()))
    if isinstance(node, ast.While):
        pending.append(node.test)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Call | ast.Await):
            steps += _STEPS_OF_CALL
        if not isinstance(part, (*_COUNTED, ast.AsyncFunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(part))
    return steps


def _build_count(node: ast.AST) -> ast.stmt:
    """The statement that counts steps, in the line of its loop or function."""
    return ast.copy_location(ast.Expr(_call_count(node, _count_steps(node))), node)


def _call_count(node: ast.AST, steps: int) -> ast.expr:
    call = ast.Call(ast.Name(COUNT, ast.Load()), [ast.Constant(steps)], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _count_comprehension(node: ast.AST) -> ast.AST:
    """A comprehension whose turns are counted by a condition, which is always true."""
    assert isinstance(node, _COMPREHENSIONS)
    for generator in node.generators:
        generator.ifs.insert(0, _call_count(node, 1))
    return node


def _make_generator_mark(node: ast.FunctionDef) -> ast.stmt:
    """`if False: yield`, which makes a function a generator even where it calls nothing."""
    mark = ast.If(ast.Constant(False), [ast.Expr(ast.Yield())], [])
    return ast.fix_missing_locations(ast.copy_location(mark, node))


def _yield_from(node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
    call = ast.copy_location(ast.Call(ast.copy_location(ast.Name(name, ast.Load()), node), args, keywords), node)
    return ast.copy_location(ast.YieldFrom(call), node)


def _build_comprehension_function(node: ast.AST, kind: str, name: str) -> ast.FunctionDef:
    """`def f(): values = []; for ...: if ...: values.append(...); return values`."""
    values = ast.Name("values__", ast.Load())
    if isinstance(node, ast.DictComp):
        target = ast.Subscript(values, node.key, ast.Store())
        innermost: ast.stmt = ast.Assign([target], node.value)
    else:
        assert isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp)
        method = {"set": "add", "list": "append"}[kind]
        innermost = ast.Expr(ast.Call(ast.Attribute(values, method, ast.Load()), [node.elt], []))
    assert isinstance(node, _COMPREHENSIONS)
    # From the innermost to the outermost: each `for` and `if` wraps what is there.
    for generator in reversed(node.generators):
        for condition in reversed(generator.ifs):
            innermost = ast.If(condition, [innermost], [])
        innermost = ast.For(generator.target, generator.iter, [innermost], [])
    empty: dict[str, ast.expr] = {
        "list": ast.List([], ast.Load()),
        "dict": ast.Dict([], []),
        "set": ast.Call(ast.Name("set", ast.Load()), [], []),
    }
    start = ast.Assign([ast.Name("values__", ast.Store())], empty[kind])
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef(name, arguments, [start, innermost, ast.Return(values)], [])
    _place(function, node)
    return function
