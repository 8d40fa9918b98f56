"""Every constant says where it comes from, and none speaks of a run."""

import ast
import inspect
import math
import os
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from accuracy import origins

from collsim.nccl.machine.machine_facts import GPUS
from collsim.nccl.model import links

TABLES = Path(os.environ.get("COLLSIM_MEASURED", Path(__file__).parents[3] / "shared/data/measured"))
KINDS = {"NCCL's own", "vendor", "fitted", "read off"}


def test_every_constant_has_its_mark_and_every_mark_its_constant():
    found = {known.name: known for known in origins.table()}
    assert {known.kind for known in found.values()} == KINDS
    assert all(known.source and known.value for known in found.values())
    assert {f.name for f in fields(links.LinkParameters)} - set(links.SWITCHES) == {
        name.removeprefix("links.").split("[")[0] for name in found if "links." in name
    }
    assert set(origins.ORIGINS) <= set(found), "a mark of something that is gone"
    names = {field if entry is None else f"{field}.{entry}" for field, entry, *_ in origins.of_links()}
    assert {*links.READ_OFF, *links.FROM_NCCL} <= names


def bare(source, known):
    """(function, number) of numbers that functions hold themselves: fractions, and whole numbers beyond small counts,
    units and `known`."""
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        for node in (inner for line in function.body for inner in ast.walk(line)):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Div)
                and all(isinstance(e, ast.Constant) for e in (node.left, node.right))
            ):
                yield function.name, f"{node.left.value}/{node.right.value}"
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                value = abs(node.value)
                unit = value >= 1000 or 0 < value <= 1e-3
                if not (math.log10(value).is_integer() if unit else value in (0.5, *range(9), *known)):
                    yield function.name, value


def test_functions_hold_no_constant_of_their_own():
    """Compute capabilities are names of generations; half is a half, and powers of ten are units or module for
    rounding."""
    generations = {0, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120, 121}
    assert generations >= {gpu.cc for gpu in GPUS.values()}
    found = {module.__name__: list(bare(inspect.getsource(module), generations)) for module in origins.MODULES}
    assert not any(found.values()), found
    source = "def f(x):\n    return 0.1 * x + 7 / 9 + 25 + 1e-6 + 1e9 + 2 + 0.5 + 90 + 1.0001\n"
    assert {value for _, value in bare(source, generations)} == {"7/9", 9, 0.1, 25, 1.0001}


def test_a_constant_without_a_mark_is_found(monkeypatch):
    monkeypatch.delitem(links.READ_OFF, "p2p_split")
    with pytest.raises(LookupError, match="p2p_split has no mark"):
        origins.table()


def test_a_new_constant_in_a_module_needs_a_mark(monkeypatch, tmp_path):
    (tmp_path / "warp.py").write_text(
        "from math import pi\nFACTOR: float = 9.0\nNAMES = ('a',)\nHALF, TWICE = 0.5, 2.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module("warp")
    assert dict(origins.list_named_values(module)) == {"FACTOR": 9.0, "HALF": 0.5, "TWICE": 2.0}
    monkeypatch.setattr(origins, "MODULES", (module,))
    with pytest.raises(KeyError, match=r"warp\.FACTOR"):
        origins.table()


def test_what_a_fit_stands_on_is_counted_by_turning_the_constant():
    from accuracy.crossval import sample

    from collsim.nccl import predict
    from collsim.nccl.machine.machine_words import parse_facts

    pair = parse_facts("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none")
    two = parse_facts("V100-SXM2-16GB", 2, 2, "none", "1x25GbE RoCE")
    samples = [sample(predict("allreduce", machine, 2**28), 1e-3) for machine in (pair, two, two)]
    found = {known.name: known for known in origins.table(samples, [("a", "one"), ("b", "two"), ("c", "two")])}
    counted = {
        name: (found[f"links.{name}"].runs, found[f"links.{name}"].systems)
        for name in ("carries[nvlink-80]", "carries[roce]", "launch")
    }
    assert counted == {"carries[nvlink-80]": (1, 1), "carries[roce]": (2, 1), "launch": (3, 2)}


@pytest.mark.skipif(not TABLES.exists(), reason=f"the published runs are not here ({TABLES}); set COLLSIM_MEASURED")
def test_no_constant_names_a_run_or_a_system():
    """The words that decide a prediction: all strings of its modules but docstrings and the sources of constants."""
    cases = pd.read_csv(TABLES / "cases.csv", dtype=str, keep_default_na=False)
    said = set()
    for module in (*origins.MODULES, SimpleNamespace(source=inspect.getsource(links))):
        said |= strings(getattr(module, "source", None) or inspect.getsource(module))
    said -= {*links.READ_OFF.values(), *links.FROM_NCCL.values(), *links.READ_OFF, *links.FROM_NCCL}
    for name in {*cases.case_id, *cases.system, *cases.source} - {""}:
        assert not any(name.lower() in text.lower() for text in said), name


def strings(source: str) -> set[str]:
    tree = ast.parse(source)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and isinstance(node.body[0], ast.Expr)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    }


def test_every_name_that_is_listed_is_one_of_the_modules():
    """A name that was changed in its module would stay in a list forever, and its constant would lose its origin."""
    names = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in origins.MODULES
        for name, _ in origins.list_named_values(module)
    }
    assert {*origins._NO_CONSTANT, *origins.ORIGINS} - names == set()
