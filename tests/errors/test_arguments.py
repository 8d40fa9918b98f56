"""A call that does not fit a function of the public interface is answered with its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import make_reference
import numpy as np
import pytest

import collsim as cs
from collsim.errors.arguments import check_arguments, check_call

if TYPE_CHECKING:
    from collsim.train import StepTrace


def list_public_functions():
    """Functions of the reference as people call them, by their names; those of `collsim.errors` make the answers."""
    functions = {}
    for _, _, names, packages in make_reference.PAGES.values():
        for name in make_reference.entries(names, packages):
            package, _, attribute = name.rpartition(".")
            function = getattr(import_module(f"collsim.{package}") if package else cs, attribute)
            if inspect.isfunction(function) and package != "errors":
                functions[name] = function
    return functions


FUNCTIONS = list_public_functions()


def test_public_functions_are_known():
    assert len(FUNCTIONS) > 180


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_call_that_does_not_fit_is_answered(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cs.CollsimError):
        FUNCTIONS[name](no_such_keyword=1, **{"no such keyword": 1})
    if not any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(FUNCTIONS[name]).parameters.values()):
        with pytest.raises(cs.CollsimError):
            FUNCTIONS[name](*range(99))


@check_arguments
def take(
    step: StepTrace | None = None,
    number: int = 0,
    seconds: float = 0.0,
    word: Literal["a", "b"] = "a",
    names: Sequence[str] = (),
    pair: tuple[int, str] = (0, ""),
    numbers: tuple[int, ...] = (),
    by_name: Mapping[str, float] = {},
    function: Callable[..., object] = len,
    several: Iterable[int] = (),
    anything=None,
):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "values",
    [
        {"step": 3},
        {"step": cs.topology.ring(4)},
        {"number": 2.5},
        {"number": True},
        {"number": "3"},
        {"seconds": "1"},
        {"seconds": 1 + 2j},
        {"word": "c"},
        {"word": 1},
        {"names": 3},
        {"names": ["a", None]},
        {"pair": (0,)},
        {"pair": ("", 0)},
        {"numbers": (1, "2")},
        {"by_name": {"a": None}},
        {"by_name": {1: 1.0}},
        {"by_name": ["a"]},
        {"function": 3},
        {"several": [1, "x"]},
    ],
)
def test_a_value_of_another_type_is_named_where_a_call_fails(values):
    ((name, value),) = values.items()
    with pytest.raises(cs.CollsimError) as caught:
        take(**values)
    assert (caught.value.values["name"], caught.value.values["function"]) == (name, "take")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert repr(value)[:20] in str(caught.value) or name == "step"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"step": None},
        {"number": np.int64(3)},
        {"seconds": 3},
        {"seconds": np.float32(3)},
        {"word": "b"},
        {"names": ["a"]},
        {"pair": (0, "a")},
        {"numbers": (1, 2)},
        {"by_name": {"a": 1}},
        {"several": range(10**12)},
        {"several": (n for n in "x")},
        {"anything": object()},
    ],
)
def test_an_error_of_a_call_that_fits_stays_what_it_is(values):
    with pytest.raises(ZeroDivisionError):
        take(**values)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: cs.collective.count_chunks_per_rank(0, 4), "ranks"),
        (lambda: cs.collective.build_load_profile(-1), "n"),
        (lambda: cs.collective.build_load_profile(4, 10**400), "load"),
        (lambda: cs.collective.find_owners(4, 10**30), "chunks"),
    ],
)
def test_a_number_that_arithmetic_fails_on_is_named(call, name):
    with pytest.raises(cs.CollsimError, match=f" {name}=.* is out of range"):
        call()


def test_what_a_function_raises_on_purpose_passes():
    @check_call
    def refuse(number: int):
        raise cs.CollsimError("no")

    with pytest.raises(cs.CollsimError, match=r"^no$"):
        refuse("x")


def test_a_wrong_object_is_answered_with_the_type_that_is_wanted():
    for function in (cs.purchases.estimate_costs, cs.purchases.estimate_goodput):
        with pytest.raises(cs.CollsimError, match=r"step=None must be of type StepTrace; help\(estimate_"):
            function(None)


def test_a_text_in_an_unknown_language_is_refused_wherever_it_is_made():
    cost = cs.purchases.RunningCost("run", 1.0, 1.0, 1.0, None, None)
    with pytest.raises(cs.CollsimError, match="unknown language 'xx'"):
        cost.text("xx")
