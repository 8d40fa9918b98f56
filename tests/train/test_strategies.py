"""A strategy of training is described once, in its class: everything else asks what it says, and not which class it is."""

import ast
from pathlib import Path

import pytest

import collsim as cs
from collsim.train.parallel.replica_sync import ReplicaSync
from collsim.train.parallel.strategy import ParallelStrategy
from collsim.train.parallel.strategy_parser import STRATEGIES

PACKAGE = Path(cs.__file__).parent
MAX_DISPATCHES = 8


def list_classes(root):
    return {root, *(c for child in root.__subclasses__() for c in list_classes(child))}


def find_dispatches(source):
    """Lines of `isinstance(value, S)` and `type(value) is S` where S names a strategy, or what keeps replicas together."""
    names = {c.__name__ for root in (ParallelStrategy, ReplicaSync) for c in list_classes(root)}
    if not any(name in source for name in names):
        return

    def has_name(node):
        parts = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
        return any((part.id if isinstance(part, ast.Name) else part.attr) in names for part in parts)

    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            if has_name(node.args[1]):
                yield node.lineno
        elif (
            isinstance(node, ast.Compare) and "type(" in ast.unparse(node.left) and any(map(has_name, node.comparators))
        ) or (isinstance(node, ast.MatchClass) and has_name(node.cls)):
            yield node.lineno


def test_few_places_ask_for_the_class_of_a_strategy():
    lines = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in find_dispatches(path.read_text(encoding="utf-8"))
    ]
    assert 0 < len(lines) <= MAX_DISPATCHES, lines


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(p, DDP)",
        "isinstance(p, (Zero, FSDP))",
        "isinstance(p, cs.train.Pipeline | Split)",
        "type(p) is DDP",
        "isinstance(sync, FsdpSync)",
    ],
)
def test_each_way_to_ask_for_a_class_is_seen(source):
    assert list(find_dispatches(source)) == [1]


#: A strategy of each function, with every option that has a value other than its default.
CHANGED = {
    "ddp": cs.ddp("10MiB", "1KiB", "bf16", True, True, static_graph=True, accumulate=3, no_sync=False, overlap=False),
    "data_parallel": cs.data_parallel(False, accumulate=2),
    "parameter_server": cs.parameter_server(2, synchronous=False, bucket=5, accumulate=2),
    "fsdp": cs.fsdp(False, False, replicate=2, no_sync=True, reduce_dtype="float32", accumulate=2),
    "zero": cs.zero(2, bucket=7, overlap=False, reduce_dtype="float32", accumulate=2),
    "tensor": cs.tensor(4, sequence=True),
    "pipeline": cs.pipeline(2, "interleaved", 4, scatter=True),
    "context": cs.context(2),
    "expert": cs.expert(2),
}


def test_every_function_has_an_example():
    assert CHANGED.keys() == STRATEGIES.keys()


@pytest.mark.parametrize("name", CHANGED)
def test_a_strategy_is_its_label(name):
    strategy = CHANGED[name]
    assert strategy.name == name
    assert strategy.label.startswith(f"{name}(")
    assert cs.train.parse_strategy(strategy.label) == strategy


@pytest.mark.parametrize("name", CHANGED)
def test_options_change_one_by_one_and_are_checked(name):
    strategy, usual = CHANGED[name], cs.train.parse_strategy(f"{name}({2 if CHANGED[name].leading else ''})")
    for option, value in strategy.list_changed_options().items():
        if option not in ("schedule", "interleave"):
            assert usual.with_options(**{option: value}).list_changed_options() == {option: value}
        with pytest.raises(cs.CollsimError):
            usual.with_options(**{option: object()})


def test_options_of_a_product_are_those_of_its_parts():
    product = (cs.tensor(2) * cs.pipeline(2, scatter=True) * cs.zero(1)).with_rank_order("tp-cp-ep-pp-dp")
    changed = product.with_options(overlap=False, sequence=True)
    assert changed.label == (
        "(tensor(2, sequence=True) * pipeline(2, scatter=True) * zero(1, overlap=False)).with_rank_order('tp-cp-ep-pp-dp')"
    )
