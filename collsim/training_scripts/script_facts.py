"""What a training script says of itself, read from its syntax tree; nothing of it runs.

Names are resolved through the imports of the script, so that `DDP(model)`, `nn.parallel.DistributedDataParallel(model)`
and `torch.nn.parallel.DistributedDataParallel(model)` are the same call. Variables are not executed: what a name may
hold are all expressions that the script assigns to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from ..errors import CollsimError
from ..rank_engine.pasted_source import parse_pasted
from .wrappers import NAMES

#: Characters of a script: a longer one is refused, since the tree takes a few hundred times as much memory.
MAX_CHARACTERS = 200_000
#: Values of one name that are looked at; a script of a person assigns it a few times.
_MAX_VALUES = 50
_DATA_PARALLEL = "torch.nn.DataParallel"
_DDP = "torch.nn.parallel.DistributedDataParallel"
_HOMES: dict[str, str] = NAMES["homes"]
#: A condition that not all ranks meet, but for those that ask whether there are several (`local_rank == -1`).
_RANK_CONDITION = re.compile(
    r"(rank\w*|get_rank\(\)|gpu_id|\bgpu)\s*(==|!=|>|in|not in)\s*(?!-1\b|None\b)|"
    r"is_(main|master|global_zero|rank_?0)|\b(main|master)_process\b",
    re.IGNORECASE,
)
#: A name that a script gives to the device or the number of a process within its node.
_RANK_WORDS = re.compile(r"local_?rank|\brank\b|gpu|device_?id|\bdev\b|LOCAL_RANK|device_count", re.IGNORECASE)


Loop: TypeAlias = ast.For | ast.While | ast.AsyncFor


@dataclass(frozen=True)
class _Position:
    """Where a node stands: the loops, conditions, function and simple statement around it, and the statement of the
    body of that function."""

    loops: tuple[Loop, ...] = ()
    conditions: tuple[ast.If, ...] = ()
    function: str = ""
    statement: ast.stmt | None = None
    body_statement: ast.stmt | None = None


@dataclass(frozen=True, kw_only=True)
class SourceCall(_Position):
    """One call of the script.

    Attributes:
        path: what is called, with the imports resolved: `torch.distributed.init_process_group`; of a method the
            method behind the name that it is called on, as `model.cuda`.
        node: the call in the tree.
        loops: the loops around it, the innermost last.
        conditions: the `if` statements around it, in either branch, the innermost last.
        function: the name of the function that it stands in, "" at the top.
        statement: the simple statement that it is a part of; None in the head of a block.
        body_statement: the statement of the body of the function, or of the script, that it is in.
    """

    path: str
    node: ast.Call

    @property
    def line(self) -> int:
        """Its line, from 1."""
        return self.node.lineno

    @property
    def method(self) -> str:
        """The last part of what is called."""
        return self.path.rpartition(".")[2]

    @property
    def receiver(self) -> str:
        """What a method is called on, as the script writes it."""
        if isinstance(self.node.func, ast.Attribute):
            return ast.unparse(self.node.func.value)
        return ""

    @property
    def rank_conditions(self) -> list[ast.If]:
        """Those of its conditions that not all ranks meet."""
        return [node for node in self.conditions if _RANK_CONDITION.search(ast.unparse(node.test))]

    def get_argument(self, position: int, name: str) -> ast.expr | None:
        """An argument by its position or its name.

        Args:
            position: from 0; -1 for one that has only a name.
            name: of the parameter.
        """
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value
        if 0 <= position < len(self.node.args):
            return self.node.args[position]
        return None

    def has_any_keywords(self) -> bool:
        """Whether it passes keywords on that the script does not write out (`**options`)."""
        return any(keyword.arg is None for keyword in self.node.keywords)


@dataclass
class ScriptFacts:
    """The calls, assignments and imports of a script.

    Attributes:
        source: its text.
        tree: its syntax tree.
        calls: all calls in the order of their lines.
        values: name -> the expressions that are assigned to it, with their lines.
    """

    source: str
    tree: ast.Module
    calls: list[SourceCall] = field(default_factory=list)
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    _imports: dict[str, str] = field(default_factory=dict)
    _block_sizes: dict[int, int] = field(default_factory=dict)  # statements around each, by its identity
    _names: dict[int, list[str]] = field(default_factory=dict)  # of the values, by their identity
    _defaults: dict[str, list[ast.expr]] = field(default_factory=dict)  # of the parameters of functions, by name

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            self._note_import(node)
        self._collect()
        self.calls.sort(key=lambda call: (call.line, call.node.col_offset))

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the source, without their ends."""
        return self.source.splitlines()

    def find_calls(self, *paths: str) -> list[SourceCall]:
        """Calls of a function or class of these full names."""
        return [call for call in self.calls if call.path in paths]

    def find_methods(self, *names: str) -> list[SourceCall]:
        """Calls whose last part is one of these names."""
        return [call for call in self.calls if call.method in names]

    @cached_property
    def _moves(self) -> dict[str, int]:
        """What is put on a GPU by a call of its own, with the first line that does it."""
        lines: dict[str, int] = {}
        for call in self.find_methods("cuda", "to"):
            if _is_move(call.node):
                lines.setdefault(call.receiver, call.line)
        return lines

    @cached_property
    def _used_names(self) -> set[str]:
        """Names that the script reads."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}

    @cached_property
    def _self_placing_classes(self) -> set[str]:
        """Classes of the script that put their own layers on devices."""
        methods = (
            (node.name, method)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef)
            for method in node.body
            if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        )
        return {
            name
            for name, method in methods
            if any(isinstance(call, ast.Call) and _is_move(call) for call in ast.walk(method))
        }

    @cached_property
    def training_loops(self) -> set[Loop]:
        """The loops in which gradients are computed."""
        return {loop for call in self.find_methods("backward") for loop in call.loops}

    @cached_property
    def reads_stream(self) -> bool:
        """Whether the data are a stream that each rank reads a part of."""
        return re.search(r"IterableDataset|split_dataset_by_node|webdataset|\.shard\(", self.source) is not None

    @cached_property
    def wrappers(self) -> list[SourceCall]:
        """Calls that make a model parallel: DDP, DataParallel, FSDP."""
        sharded = [call for call in self.calls if call.method in NAMES["sharded"]]
        return [*self.find_calls(_DDP, _DATA_PARALLEL), *sharded]

    @cached_property
    def ddp(self) -> list[SourceCall]:
        """Calls of DistributedDataParallel."""
        return self.find_calls(_DDP)

    @cached_property
    def data_parallel(self) -> list[SourceCall]:
        """Calls of DataParallel."""
        return self.find_calls(_DATA_PARALLEL)

    @cached_property
    def is_sharded(self) -> bool:
        """Whether the model is wrapped in FSDP."""
        return any(call.method in NAMES["sharded"] for call in self.calls)

    @cached_property
    def groups(self) -> list[SourceCall]:
        """Calls of init_process_group."""
        return self.find_calls("torch.distributed.init_process_group")

    @cached_property
    def spawns(self) -> bool:
        """Whether the script starts its processes itself, which are those of one node."""
        return any(call.path.startswith(("torch.multiprocessing.", "multiprocessing.")) for call in self.calls)

    @cached_property
    def hides_other_gpus(self) -> bool:
        """Whether the script sets which GPUs a process sees, so that GPU 0 may be another one in each."""
        return "CUDA_VISIBLE_DEVICES" in self.source

    @cached_property
    def uses_framework(self) -> bool:
        """Whether a framework does the placing and the starting."""
        roots = {path.partition(".")[0] for path in self._imports.values()}
        trainer = any(call.path == "transformers.Trainer" for call in self.calls)
        return trainer or bool(roots & set(NAMES["frameworks"]))

    @cached_property
    def sets_default_device(self) -> bool:
        """Whether models and tensors are made on another device than the CPU unless the script says where."""
        if self.find_calls("torch.set_default_device", "torch.set_default_tensor_type"):
            return True
        blocks = (node for node in ast.walk(self.tree) if isinstance(node, ast.With))
        contexts = (item.context_expr for block in blocks for item in block.items)
        return any(isinstance(node, ast.Call) and self.resolve(node.func) == "torch.device" for node in contexts)

    @cached_property
    def option_defaults(self) -> dict[str, ast.expr]:
        """Defaults of the options of argparse, by the expressions that read them (`args.batch_size`); none of those
        that the script assigns anew."""
        parsed = [name for call in self.find_methods("parse_args") for name in self.list_names(call.node)]
        defaults: dict[str, ast.expr] = {}
        for call in self.find_methods("add_argument"):
            texts = [part.value for part in call.node.args if isinstance(part, ast.Constant)]
            # argparse takes the first long option as the name.
            option = next((text for text in texts if isinstance(text, str) and text.startswith("--")), "")
            word = option.lstrip("-").replace("-", "_")
            named, default = call.get_argument(-1, "dest"), call.get_argument(-1, "default")
            if isinstance(named, ast.Constant):
                word = str(named.value)
            if default is not None:
                # In a function the object may have any name; `args` is what nearly all scripts call it.
                defaults |= {f"{name}.{word}": default for name in {*parsed, "args"}}
        changed = {name for name in defaults if re.search(re.escape(name) + r"\s*[-+*/]{1,2}=", self.source)}
        return {name: default for name, default in defaults.items() if name not in self.values.keys() | changed}

    def list_backends(self) -> list[str]:
        """The backends that the script may ask for, as far as it writes them; nothing where a variable says it."""
        backends: list[str] = []
        for call in self.groups:
            argument = call.get_argument(0, "backend")
            if argument is not None:
                backends += [
                    part.rpartition(":")[2]  # "cpu:gloo,cuda:nccl"
                    for value in (*self.list_values(argument), *self._defaults.get(ast.unparse(argument), ()))
                    for node in ast.walk(value)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str)
                    for part in node.value.split(",")
                ]
        return list(dict.fromkeys(backends))

    @cached_property
    def uncalled_functions(self) -> set[str]:
        """Functions at the top of the script whose names stand nowhere else in it."""
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        functions = (node for node in self.tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return {function.name for function in functions if not function.decorator_list} - names

    def is_moved(self, name: str) -> bool:
        """Whether a call of its own puts what a name holds on a GPU (`model.to(device)`)."""
        return name in self._moves

    def list_values(self, expression: ast.expr) -> list[ast.expr]:
        """What an expression may be: itself, and for a name the first values that the script assigns to it."""
        key = ast.unparse(expression)
        return [expression, *self.values.get(key, [])[:_MAX_VALUES]]

    def is_alone(self, statement: ast.stmt) -> bool:
        """Whether a block has no other statement, so that it cannot do without this one."""
        return self._block_sizes.get(id(statement), 1) == 1

    def list_names(self, value: ast.expr) -> list[str]:
        """The names that an expression is assigned to."""
        return self._names.get(id(value), [])

    def resolve(self, node: ast.expr) -> str:
        """Resolve the name of a function or class through the imports of the script.

        Args:
            node: what is called, a name or the attributes behind one.

        Returns:
            The full name: `torch.nn.Linear` of `nn.Linear`; behind another call `().method`.
        """
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            names.append(self._imports.get(node.id, node.id))
        elif isinstance(node, ast.Call):
            names.append("()")
        path = ".".join(reversed(names))
        return _HOMES.get(path, path)

    def is_on_gpu(self, expression: ast.expr, before: int) -> bool | None:
        """Whether a model or tensor is on a GPU.

        Args:
            expression: what holds it.
            before: the line up to which the script may have moved it.

        Returns:
            True or False; None where the script does not say it, as of a function's parameter.
        """
        has_calls = False
        for value in self.list_values(expression):
            calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
            if any(_is_move(call) for call in calls):
                return True
            if any(self.resolve(call.func) in self._self_placing_classes for call in calls):
                return None
            has_calls |= bool(calls)
        if self._moves.get(ast.unparse(expression), before + 1) <= before:
            return True
        if self.sets_default_device:
            return None
        if isinstance(expression, ast.Name) and not has_calls:
            return None
        return False

    def selects_device(self) -> bool:
        """Whether each process chooses a GPU of its own."""
        for call in self.calls:
            if call.path == "torch.cuda.set_device" or call.path == "torch.cuda.device":
                return True
            if call.path == "torch.distributed.init_process_group" and call.get_argument(-1, "device_id") is not None:
                return True
            names = self.list_names(call.node)
            if call.path == "torch.device" and names and not self._used_names & set(names):
                continue  # made, and used nowhere
            if call.method in ("to", "cuda", "device"):
                arguments = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
                if any(self._names_rank(argument) for argument in arguments):
                    return True
        return self.hides_other_gpus

    def _names_rank(self, expression: ast.expr) -> bool:
        """Whether an expression tells processes apart; torch.cuda.current_device() does not, and get_rank() only on
        the first node."""
        for value in self.list_values(expression):
            text = ast.unparse(value)
            if "current_device" in text or (re.search(r"get_rank\(", text) and "%" not in text):
                return False
            if "RANK" in text or (_RANK_WORDS.search(text) and not isinstance(value, ast.Constant)):
                return True
            if isinstance(value, ast.Name | ast.JoinedStr) and _RANK_WORDS.search(text):
                return True
        return False

    def _note_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                if alias.asname:
                    self._imports[alias.asname] = alias.name
                else:
                    self._imports[root] = root  # `import torch.nn` binds torch
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                self._imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _collect(self) -> None:
        """Collect calls and assignments, without recursion: a stranger's expression may be thousands of levels deep."""
        stack: list[tuple[ast.AST, _Position]] = [(self.tree, _Position())]
        while stack:
            node, position = stack.pop()
            for target, value in _list_assignments(node):
                self.values.setdefault(ast.unparse(target), []).append(value)
                self._names.setdefault(id(value), []).append(ast.unparse(target))
            if isinstance(node, ast.Call):
                self.calls.append(SourceCall(path=self.resolve(node.func), node=node, **vars(position)))
            elif isinstance(node, Loop):
                position = replace(position, loops=(*position.loops, node))
            elif isinstance(node, ast.If):
                position = replace(position, conditions=(*position.conditions, node))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                position = _Position(function=node.name)
                parameters = (*node.args.posonlyargs, *node.args.args)
                defaults = node.args.defaults
                for parameter, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
                    self._defaults.setdefault(parameter.arg, []).append(default)
            elif isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return):
                position = replace(position, statement=node)
            for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
                if isinstance(block, list):
                    self._block_sizes |= {id(statement): len(block) for statement in block}
            for child in ast.iter_child_nodes(node):
                inner = position
                if isinstance(child, ast.stmt) and position.body_statement is None:
                    inner = replace(position, body_statement=child)
                stack.append((child, inner))


def _is_move(call: ast.Call) -> bool:
    """Whether a call puts something on a device that is no CPU."""
    if any(keyword.arg in ("device", "device_map") for keyword in call.keywords):
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda":
        return True
    if call.func.attr != "to" or not (call.args or call.keywords):
        return False
    target = "".join(ast.unparse(argument) for argument in call.args[:1])
    return "cpu" not in target and not target.startswith("torch.float") and not target.startswith("torch.bfloat")


def is_false(expression: ast.expr | None) -> bool:
    """Whether an expression is the word False."""
    return isinstance(expression, ast.Constant) and expression.value is False


def _list_assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets of an assignment with their values; of `a, b = x, y` each pair."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    if isinstance(node, ast.NamedExpr):
        yield node.target, node.value
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif isinstance(target, ast.Name | ast.Attribute):
            yield target, node.value


def parse_script(source: str) -> ScriptFacts:
    """Read a script into its facts.

    Args:
        source: Python source, as written or corrected.

    Returns:
        Its facts.

    Raises:
        CollsimError: it is too deep, or no Python; the message has the line.
    """
    try:
        return ScriptFacts(source, parse_pasted(source))
    except SyntaxError as error:
        message = "line {line} of the script is not Python: {reason}"
        raise CollsimError(message, line=error.lineno or 0, reason=error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CollsimError("the script cannot be read: {reason}", reason=str(error) or type(error).__name__) from None
