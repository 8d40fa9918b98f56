"""What is wrong in a training script of PyTorch, by rules that read its facts.

Each rule follows PyTorch's documents and code of 2.13: docs/source/distributed.md, notes/ddp.md,
nn/parallel/distributed.py, nn/parallel/data_parallel.py, utils/data/distributed.py and the tutorial "Getting started
with distributed data parallel".
A rule is silent where the script does not say enough.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Literal

from ..locale import translate
from ..locale.synonyms import find_near_names
from ..package_data import read_package_file
from .corrections import SourceEdit, delete_statement, insert_lines, replace_node
from .script_facts import Loop, ScriptFacts, SourceCall, is_false
from .wrappers import NAMES

#: fails: it ends in an error. wrong: it runs and trains something else. slow: it wastes hardware. note: worth knowing.
Severity = Literal["fails", "wrong", "slow", "note"]
#: Findings of one rule; a script with more has the same mistake in a row.
_MAX_FINDINGS = 25
_LOCAL_RANK = 'local_rank = int(os.environ["LOCAL_RANK"])  # torchrun sets it'
#: Names that a script gives to a number which counts computers.
_LOCAL_NAMES = re.compile(r"local|gpu|device", re.IGNORECASE)
#: Variables with the number of a process over all nodes: of torchrun, Slurm and MPI libraries.
_GLOBAL_RANKS = "RANK|SLURM_PROCID|OMPI_COMM_WORLD_RANK|PMI_RANK|MV2_COMM_WORLD_RANK"
_NODE_NAMES = re.compile(r"^(node|machine|host|server)(_?(id|rank|index|num|number))?$", re.IGNORECASE)
#: Functions of torch that make a tensor on the CPU unless told otherwise.
_FACTORIES = {f"torch.{name}" for name in ("tensor", "zeros", "ones", "rand", "randn", "empty", "full", "arange")}
#: Calls that only ask a group, and one that only waits.
_QUESTIONS = {f"torch.distributed.{name}" for name in NAMES["questions"]}
#: Names of functions that may average gradients.
_SYNCHRONIZERS = re.compile(r"reduce|average|sync|ddp|parallel|shard|prepare|wrap|stage|engine|comm", re.IGNORECASE)
#: What torch.distributed sends, with the position of the tensor.
_COLLECTIVES = {"all_reduce": 0, "broadcast": 0, "reduce": 0, "all_gather_into_tensor": 1, "reduce_scatter_tensor": 1}


@dataclass(frozen=True)
class ScriptFinding:
    """One thing that is wrong or missing.

    Attributes:
        key: which rule found it, such as `no_set_device`.
        line: of the script, from 1.
        severity: `fails`, `wrong`, `slow` or `note`.
        values: what stands in its sentence.
        edits: the smallest change that fixes it.

    Examples:
        >>> from collsim.training_scripts import read_script
        >>> finding = read_script("import torch.distributed as dist\\ndist.reduce_grad(1)\\n").findings[0]
        >>> print(finding.line, finding.key, finding.text())
        2 absent_call torch.distributed has no 'reduce_grad'.
    """

    key: str
    line: int
    severity: Severity
    values: Mapping[str, object] = field(default_factory=dict)
    edits: tuple[SourceEdit, ...] = ()

    def to_dict(self, language: str = "en") -> dict[str, object]:
        """The finding as plain data.

        Args:
            language: of its sentences.
        """
        words = {"text": self.text(language), "reason": self.reason(language)}
        return {"key": self.key, "line": self.line, "severity": self.severity, **words}

    def text(self, language: str = "en") -> str:
        """What is wrong.

        Args:
            language: of the sentence.
        """
        return translate(language, "scripts", f"{self.key}.text", **self.values)

    def reason(self, language: str = "en") -> str:
        """Why it is wrong, and what to do.

        Args:
            language: of the sentence.
        """
        return translate(language, "scripts", f"{self.key}.reason", **self.values)


Rule = Callable[[ScriptFacts], Iterator[ScriptFinding]]


def find_mistakes(facts: ScriptFacts) -> tuple[ScriptFinding, ...]:
    """Apply all rules to a script.

    Args:
        facts: of the script.

    Returns:
        The findings in the order of their lines.
    """
    findings = [finding for rule in _RULES for finding in islice(rule(facts), _MAX_FINDINGS)]
    return tuple(sorted(findings, key=lambda finding: (finding.line, finding.key)))


# ---- devices ---------------------------------------------------------------------------------------------------------


def _is_for_gpus(facts: ScriptFacts) -> bool:
    """Whether the script certainly computes on GPUs."""
    return facts.list_backends() == ["nccl"] or bool(facts.find_methods("cuda", "set_device"))


def _uses_nccl_on_cpu(facts: ScriptFacts) -> bool:
    """Whether the script runs on a CPU, as it says or as it moves nothing, with NCCL as its only backend."""
    is_cpu = any(isinstance(n, ast.Constant) and n.value == "cpu" for n in ast.walk(facts.tree))
    is_cpu |= bool(facts.ddp) and re.search(r"cuda|device|\.to\(|local_?rank", facts.source, re.IGNORECASE) is None
    has_gpus = facts.find_methods("cuda", "set_device", "is_available") or '"cuda' in facts.source
    return is_cpu and not has_gpus and facts.list_backends() == ["nccl"]


def _find_model_on_cpu(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if _uses_nccl_on_cpu(facts):
        return
    wrappers = [(call, True) for call in facts.ddp] + [(call, False) for call in facts.data_parallel]
    for call, is_ddp in wrappers:
        model = call.get_argument(0, "module")
        # DataParallel copies in each step, so its model may be moved after it was wrapped.
        if not is_ddp and any(facts.is_moved(name) for name in facts.list_names(call.node)):
            continue
        if model is None or facts.is_on_gpu(model, call.line) is not False:
            continue
        device_ids = call.get_argument(1, "device_ids")
        names_devices = device_ids is not None and not (
            isinstance(device_ids, ast.Constant) and device_ids.value is None
        )
        # On a CPU machine with gloo this is right code, and a finding would be a false alarm.
        if is_ddp and not names_devices and facts.list_backends() != ["nccl"]:
            continue  # DDP of a model on CPUs is right with gloo
        if not is_ddp and not names_devices and not _is_for_gpus(facts):
            continue  # on a computer without GPUs DataParallel only calls the model
        name = ast.unparse(model)
        if is_ddp:
            key, device = "model_on_cpu", "local_rank"
        else:
            key, device = "model_on_cpu_data_parallel", "0"
            if isinstance(device_ids, ast.List | ast.Tuple) and device_ids.elts:
                # Its own first device, if the script lists some.
                device = ast.unparse(device_ids.elts[0])
        edits = [replace_node(model, f"{name}.to({device})")]
        if is_ddp:
            edits += _define_local_rank(facts)
        yield ScriptFinding(key, call.line, "fails", {"model": name}, tuple(edits))


def _find_no_set_device(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    wrapped = facts.ddp or facts.is_sharded
    if not wrapped or facts.list_backends() != ["nccl"] or facts.selects_device() or not facts.groups:
        return
    if _uses_nccl_on_cpu(facts):
        return
    edits = list(_define_local_rank(facts))
    # device_ids must name the device that set_device chooses, or DDP would copy to GPU 0.
    for call in facts.ddp:
        device_ids = call.get_argument(1, "device_ids")
        if device_ids is not None:
            edits.append(replace_node(device_ids, "[local_rank]"))
    for call in facts.find_methods("cuda"):
        if not call.node.args and not call.path.startswith("torch."):
            edits.append(replace_node(call.node, f"{call.receiver}.to(local_rank)"))
    for call in facts.find_methods("to", "device"):
        edits += [replace_node(part, "local_rank") for part in call.node.args if _is_plain_cuda(part, call)]
    yield ScriptFinding("no_set_device", facts.groups[0].line, "fails", {}, tuple(edits))


def _is_plain_cuda(argument: ast.expr, call: SourceCall) -> bool:
    return call.method == "to" and isinstance(argument, ast.Constant) and argument.value in ("cuda", "cuda:0", 0)


def _find_one_gpu(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if not facts.groups or "nccl" not in facts.list_backends() or facts.hides_other_gpus:
        return
    for call in facts.find_calls("torch.cuda.set_device"):
        device = call.get_argument(0, "device")
        if isinstance(device, ast.Constant) and device.value in (0, "cuda:0", "cuda"):
            edits = (replace_node(device, "local_rank"), *_define_local_rank(facts, sets_device=False))
            yield ScriptFinding("one_gpu", call.line, "fails", {}, edits)


def _find_rank_as_device(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if facts.spawns:
        return  # the processes of one node: rank and local rank are the same
    reported: set[int] = set()
    for call in facts.find_methods("to", "cuda", "set_device", "device", "DistributedDataParallel", "DDP"):
        arguments = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        if call.method == "DistributedDataParallel" or call in facts.ddp:
            device_ids = call.get_argument(1, "device_ids")
            arguments = []
            if isinstance(device_ids, ast.List | ast.Tuple):
                arguments = list(device_ids.elts)
        for argument in arguments:
            for value in _list_wrong_local_ranks(facts, argument):
                if id(value) not in reported:
                    reported.add(id(value))
                    yield _build_rank_as_local(facts, value)
            # A name for the number within the node that holds another number is wrong once, where it is assigned.
            if _is_global_rank(facts, argument) and not _is_assigned_once_as_local(facts, argument):
                edits = (replace_node(argument, "local_rank"), *_define_local_rank(facts))
                yield ScriptFinding("rank_as_device", call.line, "fails", {"code": ast.unparse(argument)}, edits)
    for name, values in facts.values.items():
        for value in values:
            if _NODE_NAMES.match(name) and isinstance(value, ast.Call) and _is_global_rank(facts, value):
                yield ScriptFinding("rank_as_node", value.lineno, "wrong", {"name": name})


def _is_assigned_once_as_local(facts: ScriptFacts, expression: ast.expr) -> bool:
    name = ast.unparse(expression)
    return _LOCAL_NAMES.search(name) is not None and len(facts.values.get(name, [])) == 1


def _list_wrong_local_ranks(facts: ScriptFacts, expression: ast.expr) -> list[ast.expr]:
    """What is assigned to a name for the number within the node, or is its text `f"cuda:{rank}"`, though it is the
    number over all nodes."""
    name = ast.unparse(expression)
    if not _LOCAL_NAMES.search(name):
        return []
    assigned = facts.values.get(name, [])
    wrong: list[ast.expr] = []
    for text in (value for value in (expression, *assigned) if isinstance(value, ast.JoinedStr)):
        for part in _list_formatted(text):
            if _is_global_rank(facts, part):
                places: list[ast.expr] = [text]
                if _is_assigned_once_as_local(facts, part):
                    places = facts.values[ast.unparse(part)]
                wrong += places
    if _is_assigned_once_as_local(facts, expression):
        wrong += [value for value in assigned if _is_global_rank(facts, expression)]
    else:  # where another branch assigns another number, only what is plainly the global one
        wrong += [value for value in assigned if isinstance(value, ast.Call) and _is_global_rank(facts, value)]
    return wrong


def _list_formatted(text: ast.JoinedStr) -> list[ast.expr]:
    return [part.value for part in text.values if isinstance(part, ast.FormattedValue)]


def _build_rank_as_local(facts: ScriptFacts, value: ast.expr) -> ScriptFinding:
    if isinstance(value, ast.JoinedStr):  # the whole text: parts have no positions of their own before Python 3.12
        code = next(ast.unparse(part) for part in _list_formatted(value) if _is_global_rank(facts, part))
        text = ast.unparse(value).replace(f"{{{code}}}", "{local_rank}")
        edits = (replace_node(value, text), *_define_local_rank(facts))
        return ScriptFinding("rank_as_device", value.lineno, "fails", {"code": code}, edits)
    edits = (replace_node(value, 'int(os.environ["LOCAL_RANK"])'), *_import_os(facts))
    return ScriptFinding("rank_as_device", value.lineno, "fails", {"code": ast.unparse(value)}, edits)


def _is_global_rank(facts: ScriptFacts, expression: ast.expr) -> bool:
    """Whether it is the number of the process over all nodes, and nothing else."""
    values = facts.list_values(expression)
    # A name may hold another name: `local_rank = rank`, `rank = dist.get_rank()`.
    names = {value.id: value for value in values[1:] if isinstance(value, ast.Name)}
    values += [value for name in names.values() for value in facts.list_values(name)[1:]]
    texts = [ast.unparse(value) for value in values]
    if any("%" in text or "LOCAL_RANK" in text for text in texts):
        return False
    calls = (value for value in values if isinstance(value, ast.Call))
    if any(facts.resolve(call.func) == "torch.distributed.get_rank" for call in calls):
        return True
    pattern = rf"int\(os\.(environ\[|getenv\(|environ\.get\()['\"]({_GLOBAL_RANKS})['\"].*\)"
    return any(re.fullmatch(pattern, text) for text in texts)


# ---- process groups --------------------------------------------------------------------------------------------------


@cache
def _load_distributed_names() -> frozenset[str]:
    return frozenset(read_package_file(__file__, "torch_distributed.txt").split())


def _find_absent_call(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    known = _load_distributed_names()
    for call in facts.calls:
        if not call.path.startswith("torch.distributed."):
            continue
        # Only the first part after the package: `distributed.nn.all_reduce` is a module, not a missing call.
        name = call.path.removeprefix("torch.distributed.").partition(".")[0]
        if name in known or name.startswith("_"):
            continue
        values = {"name": name, "nearest": (find_near_names(name, sorted(known)) or ["all_reduce"])[0]}
        statement = call.statement
        if facts.ddp and re.search("grad", name) and statement is not None:
            edits = (_delete(facts, statement),)
            yield ScriptFinding("absent_gradient_call", call.line, "fails", values, edits)
        else:
            yield ScriptFinding("absent_call", call.line, "fails", values)


def _find_unused_group(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if not facts.groups:
        return
    # The two calls of its own do not use the group, and neither does a function that nothing calls.
    calls = (call for call in facts.calls if call.function not in facts.uncalled_functions)
    used_paths = {call.path for call in calls if call.path.startswith("torch.distributed.")}
    used_paths -= {"torch.distributed.init_process_group", "torch.distributed.destroy_process_group"}
    if facts.ddp or facts.is_sharded or facts.uses_framework:
        return
    call = facts.groups[0]
    if used_paths - _QUESTIONS or (used_paths and _may_synchronize(facts)):
        return
    if facts.data_parallel and not used_paths:
        statement = call.statement
        edits: tuple[SourceEdit, ...] = ()
        if statement is not None:
            edits = (_delete(facts, statement),)
        yield ScriptFinding("unused_group", call.line, "note", {"line": facts.data_parallel[0].line}, edits)
    elif facts.find_methods("backward"):
        yield ScriptFinding("no_synchronization", facts.find_methods("backward")[0].line, "wrong")


def _may_synchronize(facts: ScriptFacts) -> bool:
    """Whether a function of the script or of somebody else may bring the gradients of ranks together."""
    calls = (call for call in facts.calls if not call.path.startswith("torch.distributed."))
    return any(_SYNCHRONIZERS.search(call.path) for call in calls)


def _find_collective_on_some_ranks(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    """A collective that stands in a condition on the rank, while the others never call it."""
    calls: dict[str, list[SourceCall]] = {}
    for call in facts.calls:
        if _is_collective_of_all(facts, call) and call.rank_conditions:
            calls.setdefault(call.method, []).append(call)
    inner = {call.function: call.method for call in facts.calls if call.function and _is_collective_of_all(facts, call)}
    guarded = {call.function for matches in calls.values() for call in matches}
    for function in inner.keys() - guarded:  # a function that calls one, and is itself called on some ranks only
        outer = [call for call in facts.find_methods(function) if call.function != function]
        if outer and all(call.rank_conditions for call in outer):
            calls[function] = outer
    for method, matches in calls.items():
        # Two of them are the two halves: the first rank loads or writes while the others wait.
        if len(matches) == 1 and not matches[0].rank_conditions[-1].orelse:
            condition = ast.unparse(matches[0].rank_conditions[-1].test)
            operation = inner.get(method, method)
            key = "collective_on_some_ranks"
            if operation in NAMES["gathering_calls"]:
                key = "state_on_some_ranks"
            yield ScriptFinding(key, matches[0].line, "fails", {"operation": operation, "condition": condition})


def _is_collective_of_all(facts: ScriptFacts, call: SourceCall) -> bool:
    if facts.is_sharded and call.method in NAMES["gathering_calls"] and "SHARDED_STATE_DICT" not in facts.source:
        return call.method != "state_dict" or _may_be_sharded(facts, call)
    is_collective = call.path.startswith("torch.distributed.") and call.method in NAMES["calls_of_all"]
    return is_collective and call.get_argument(-1, "group") is None


def _may_be_sharded(facts: ScriptFacts, call: SourceCall) -> bool:
    """Whether a method is called on a model in FSDP, which a parameter called `model` may be, too."""
    name = call.receiver
    wrapped = {name for wrapper in facts.wrappers for name in facts.list_names(wrapper.node)}
    wrapped |= {ast.unparse(wrapper.node.args[0]) for wrapper in facts.wrappers if wrapper.node.args}  # fully_shard
    return name in wrapped or (call.function != "" and name not in facts.values and "model" in name)


def _find_saved_by_all(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    """A file of one name that each process of DDP writes."""
    if not facts.ddp or not facts.groups or facts.uses_framework:
        return
    guarded = {call.method for call in facts.calls if call.rank_conditions}
    called = {call.method for call in facts.calls}
    for call in facts.find_calls("torch.save"):
        path = call.get_argument(1, "f")
        if call.rank_conditions or path is None or call.function in guarded:
            continue
        # A function that nothing here calls, or that leaves early on other ranks, may be right.
        if (call.function and call.function not in called) or _leaves_on_other_ranks(facts, call.function):
            continue
        if not any(
            re.search(r"rank|gpu|\bdev", ast.unparse(value), re.IGNORECASE) for value in facts.list_values(path)
        ):
            yield ScriptFinding("saved_by_all", call.line, "wrong", {"path": ast.unparse(path)})
            return


def _leaves_on_other_ranks(facts: ScriptFacts, function: str) -> bool:
    """Whether a function has a decorator or a condition that ends it on some ranks."""
    for node in ast.walk(facts.tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            returns = (part for part in ast.walk(node) if isinstance(part, ast.If))
            leaves = any(isinstance(part, ast.Return) for condition in returns for part in condition.body)
            return leaves or any(re.search("rank|main|master", ast.unparse(part)) for part in node.decorator_list)
    return False


def _find_impossible_backend(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    backends = facts.list_backends()
    for backend in backends:
        if backend.lower() not in NAMES["backends"]:
            values = {"backend": backend, "nearest": (find_near_names(backend, NAMES["backends"]) or ["gloo"])[0]}
            yield ScriptFinding("unknown_backend", facts.groups[0].line, "fails", values)
    if backends == ["gloo"]:
        yield from _find_gloo_sends(facts)
    if backends != ["nccl"]:
        return
    if _uses_nccl_on_cpu(facts):
        argument = facts.groups[0].get_argument(0, "backend")
        edits: tuple[SourceEdit, ...] = ()
        if isinstance(argument, ast.Constant):
            edits = (replace_node(argument, '"gloo"'),)
        yield ScriptFinding("nccl_on_cpu", facts.groups[0].line, "fails", {}, edits)
        return
    for call in facts.calls:
        position = _COLLECTIVES.get(call.method)
        if position is None or not call.path.startswith("torch.distributed."):
            continue
        tensor = call.get_argument(position, "tensor")
        if tensor is None or facts.sets_default_device:
            continue
        assigned = facts.values.get(ast.unparse(tensor), [])
        tensors = [_get_first_operand(value) for value in assigned]
        factories = [
            value for value in tensors if isinstance(value, ast.Call) and facts.resolve(value.func) in _FACTORIES
        ]
        # Only where every assignment of the name makes a CPU tensor: else it is not known which one counts.
        if assigned and len(factories) == len(assigned) and facts.is_on_gpu(tensor, call.line) is False:
            values = {"name": ast.unparse(tensor), "operation": call.method}
            edits = tuple(_insert_after(value, ".cuda()") for value in tensors)
            yield ScriptFinding("tensor_on_cpu", call.line, "fails", values, edits)


def _get_first_operand(value: ast.expr) -> ast.expr:
    """The tensor of a product or sum, `torch.ones(4)` of `torch.ones(4) * rank`."""
    while isinstance(value, ast.BinOp):
        value = value.left
    return value


def _find_gloo_sends(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    """Tensors of GPUs that are sent from rank to rank, which Gloo does not do."""
    for call in facts.find_calls(*(f"torch.distributed.{name}" for name in ("send", "recv", "isend", "irecv"))):
        tensor = call.get_argument(0, "tensor")
        if tensor is None or not any("cuda" in ast.unparse(value) for value in facts.list_values(tensor)):
            continue
        values = {"name": ast.unparse(tensor), "operation": call.method}
        yield ScriptFinding("gloo_gpu_send", call.line, "fails", values)


def _find_no_group(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    """DDP without a process group; silent where the script may start one by a function of somebody else."""
    if not facts.ddp or facts.groups or facts.uses_framework or not facts.find_methods("backward"):
        return
    paths = (call.path for call in facts.calls if call.method != "__init__")
    if any(re.search(r"init|setup|dist(?!ributed)|launch", path, re.IGNORECASE) for path in paths):
        return
    yield ScriptFinding("no_group", facts.ddp[0].line, "fails")


# ---- the loop --------------------------------------------------------------------------------------------------------


def _find_no_zero_grad(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if facts.find_methods("zero_grad") or re.search(r"\.grad\s*=\s*None|\.grad\.zero_\(", facts.source):
        return
    if facts.uses_framework:
        return
    # The optimizer that steps in the same loop is the one whose gradients would add up.
    optimizers = [step for step in facts.find_methods("step") if "sched" not in step.receiver]
    steps = {step.loops: step for step in reversed(optimizers)}  # the first of each loop
    for call in facts.find_methods("backward"):
        # Its own loop, or one around it where gradients are accumulated.
        depths = range(len(call.loops), 0, -1)
        step = next((steps[call.loops[:depth]] for depth in depths if call.loops[:depth] in steps), None)
        if step is None or call.statement is None:
            continue
        depth = len(step.loops)
        statement = (*call.loops, call.statement)[depth]
        optimizer = step.receiver
        if step.node.args:  # scaler.step(optimizer)
            optimizer = ast.unparse(step.node.args[0])
        edits = _insert_in_loop(facts, call.loops[depth - 1], statement, f"{optimizer}.zero_grad()")
        yield ScriptFinding("no_zero_grad", call.line, "wrong", {"optimizer": optimizer}, edits)
        return


def _find_no_sampler(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if not (facts.ddp or facts.is_sharded) or facts.uses_framework:
        return
    loaders = facts.find_calls("torch.utils.data.DataLoader")
    sampled = [call for call in loaders if _has_sampler(call)]
    for call in loaders:
        # Evaluation may read all data on each rank, and a dataset may shard itself.
        if _is_evaluation(facts, call) or call.has_any_keywords() or _has_own_shard(facts, call):
            continue
        # Beside a loader with a sampler, one that keeps the order is for evaluation, whatever its name is.
        if sampled and not _is_true(call.get_argument(2, "shuffle")):
            continue
        if not _has_sampler(call):
            dataset = call.get_argument(0, "dataset")
            edits: tuple[SourceEdit, ...] = ()
            if dataset is not None:
                sampler = f", sampler=torch.utils.data.DistributedSampler({ast.unparse(dataset)})"
                edits = (_insert_after(dataset, sampler), *_remove_shuffle(call))
            yield ScriptFinding("no_sampler", call.line, "wrong", {}, edits)
    if not loaders:
        yield from _find_data_without_shard(facts)


def _has_sampler(call: SourceCall) -> bool:
    return call.get_argument(3, "sampler") is not None or call.get_argument(4, "batch_sampler") is not None


def _is_true(argument: ast.expr | None) -> bool:
    return isinstance(argument, ast.Constant) and argument.value is True


def _find_data_without_shard(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    """A tensor of data that is made before the loop which uses it: a loader's place, without the ranks in it."""
    used = {node.id for loop in facts.training_loops for node in ast.walk(loop) if isinstance(node, ast.Name)}
    for call in facts.find_methods("randn", "rand", "tensor"):
        if call.loops or not call.path.startswith("torch."):
            continue
        names = set(facts.list_names(call.node))
        if names & used and not re.search(r"\brank\b|get_rank|RANK|seed", ast.unparse(call.node)):
            yield ScriptFinding("no_loader", call.line, "note", {"name": sorted(names & used)[0]})
            return


def _is_evaluation(facts: ScriptFacts, call: SourceCall) -> bool:
    """Whether a loader is for validation: all ranks may read all of it."""
    names = facts.list_names(call.node)
    text = " ".join([*names, *(ast.unparse(argument) for argument in call.node.args[:1]), call.function])
    return re.search(r"val|test|eval|infer", text, re.IGNORECASE) is not None


def _has_own_shard(facts: ScriptFacts, call: SourceCall) -> bool:
    """Whether the data set itself belongs to a rank: it is cut by the rank, or reads a stream of its own."""
    if facts.reads_stream:
        return True
    dataset = call.get_argument(0, "dataset")
    if dataset is None:
        return False
    texts = [ast.unparse(value) for value in facts.list_values(dataset)]
    return any(re.search(r"\brank\b|get_rank|RANK", text) for text in texts)


def _find_sampler_mistakes(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    samplers = facts.find_calls("torch.utils.data.DistributedSampler")
    for call in facts.find_calls("torch.utils.data.DataLoader"):
        shuffle = call.get_argument(2, "shuffle")
        sampler = call.get_argument(3, "sampler")
        has_sampler = sampler is not None and not (isinstance(sampler, ast.Constant) and sampler.value is None)
        if has_sampler and isinstance(shuffle, ast.Constant) and shuffle.value is True:
            yield ScriptFinding("shuffle_with_sampler", call.line, "fails", {}, tuple(_remove_shuffle(call)))
    # Without shuffling every epoch is in one order anyway.
    if not samplers or facts.find_methods("set_epoch"):
        return
    for loop in (node for node in ast.walk(facts.tree) if isinstance(node, ast.For)):
        if "epoch" not in ast.unparse(loop.target) or not isinstance(loop.target, ast.Name):
            continue
        shuffled = [call for call in samplers if not is_false(call.get_argument(3, "shuffle"))]
        training = [call for call in shuffled if not _is_evaluation(facts, call)]
        if training:
            names = facts.list_names(training[0].node)
            edits: tuple[SourceEdit, ...] = ()
            if names:
                edits = _insert_in_loop(facts, loop, loop.body[0], f"{names[0]}.set_epoch({loop.target.id})")
            yield ScriptFinding("no_set_epoch", loop.lineno, "wrong", {"epoch": loop.target.id}, edits)
        return


def _find_bypassed_wrapper(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    if not facts.ddp:
        return
    for call in facts.find_methods("module"):
        if facts.training_loops & set(call.loops) and (call.node.args or call.node.keywords):
            function = call.node.func
            if isinstance(function, ast.Attribute):
                edits = (replace_node(function, ast.unparse(function.value)),)
                yield ScriptFinding("bypassed_wrapper", call.line, "wrong", {"code": ast.unparse(function)}, edits)


def _find_small_batch(facts: ScriptFacts) -> Iterator[ScriptFinding]:
    """A batch of one sample, which DataParallel cannot divide."""
    if not facts.data_parallel or facts.ddp:
        return
    models = facts.list_names(facts.data_parallel[0].node)
    for call in facts.calls:
        if call.path not in models or not call.node.args:
            continue
        for value in facts.list_values(call.node.args[0]):
            match = re.match(r"torch\.(?:rand|randn|zeros|ones)\(\(?1,", ast.unparse(value))
            if match is not None:
                yield ScriptFinding("batch_of_one", value.lineno, "slow")
                return


# ---- edits -----------------------------------------------------------------------------------------------------------


def _define_local_rank(facts: ScriptFacts, sets_device: bool = True) -> Iterator[SourceEdit]:
    """Lines that give each process the number of its GPU, behind the imports and init_process_group."""
    if "local_rank" in facts.values and "torch.cuda.set_device" in facts.source:
        return
    # Inserted lines go behind what they need: imports, and the process group.
    imports = [node for node in facts.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    yield from _import_os(facts)
    lines = [_LOCAL_RANK] * ("local_rank" not in facts.values)
    if sets_device and "torch.cuda.set_device" not in facts.source:
        lines.append("torch.cuda.set_device(local_rank)")
    statement = None
    if facts.groups:
        statement = facts.groups[0].body_statement
    if statement is None:
        if imports:
            yield insert_lines((imports[-1].end_lineno or imports[-1].lineno) + 1, lines, "")
        return
    yield insert_lines(statement.lineno, lines, facts.lines[statement.lineno - 1])


def _import_os(facts: ScriptFacts) -> Iterator[SourceEdit]:
    imports = [node for node in facts.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    if imports and not re.search(r"^\s*import (\w+, *)*os\b", facts.source, re.MULTILINE):
        yield insert_lines(imports[0].lineno, ["import os"], "")


def _insert_in_loop(facts: ScriptFacts, loop: Loop, statement: ast.stmt, text: str) -> tuple[SourceEdit, ...]:
    """A line before a statement of a loop; nothing where the loop has its body on its own line."""
    if statement.lineno == loop.lineno:
        return ()
    return (insert_lines(statement.lineno, [text], facts.lines[statement.lineno - 1]),)


def _delete(facts: ScriptFacts, statement: ast.stmt) -> SourceEdit:
    last = facts.lines[(statement.end_lineno or statement.lineno) - 1]
    return delete_statement(statement, last, facts.is_alone(statement))


def _insert_after(node: ast.expr, text: str) -> SourceEdit:
    position = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return SourceEdit(position, position, text)


def _remove_shuffle(call: SourceCall) -> Iterator[SourceEdit]:
    """DataLoader refuses shuffle=True beside a sampler, which shuffles by itself."""
    for keyword in call.node.keywords:
        if keyword.arg == "shuffle" and isinstance(keyword.value, ast.Constant):
            yield replace_node(keyword.value, "False")


_RULES: tuple[Rule, ...] = (
    _find_model_on_cpu,
    _find_no_set_device,
    _find_one_gpu,
    _find_rank_as_device,
    _find_absent_call,
    _find_unused_group,
    _find_collective_on_some_ranks,
    _find_saved_by_all,
    _find_impossible_backend,
    _find_no_group,
    _find_no_zero_grad,
    _find_no_sampler,
    _find_sampler_mistakes,
    _find_bypassed_wrapper,
    _find_small_batch,
)
