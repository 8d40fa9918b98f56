"""A way of splitting as text: `tensor(8, sequence=True) * pipeline(16) * zero(1)`, as steps and searches say it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce
from inspect import signature
from operator import mul

from ...errors import CollsimError, Sentence, describe_unknown, format_value
from ...errors.arguments import check_arguments
from ...locale.synonyms import find_synonyms
from .data_parallel_strategy import data_parallel
from .ddp_strategy import ddp
from .model_parallel import context, expert, pipeline, tensor
from .parameter_server_strategy import parameter_server
from .sharded_parallel import fsdp, zero
from .strategy import ParallelStrategy

#: The functions that make strategies, by name: what files and command lines call.
STRATEGIES: dict[str, Callable[..., ParallelStrategy]] = {
    make.__name__: make
    for make in (tensor, context, expert, pipeline, data_parallel, ddp, parameter_server, zero, fsdp)
}

#: Characters of a product that somebody means.
_LONGEST = 2000


@check_arguments
def parse_strategy(text: str) -> ParallelStrategy:
    """The strategy that a text says: calls with plain values, multiplied, and `.with_rank_order(order)` of a product.

    Args:
        text: such as `"tensor(8) * ddp()"`; a name by itself is a call without arguments.

    Returns:
        The strategy.

    Raises:
        CollsimError: For anything else.

    Examples:
        >>> import collsim as cs
        >>> cs.train.parse_strategy("tensor(8) * ddp") == cs.tensor(8) * cs.ddp()
        True
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise _build_parse_error(text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep
        raise _build_parse_error(text) from None
    return _parse_product(tree, text)


def _parse_product(tree: ast.expr, text: str) -> ParallelStrategy:
    return reduce(mul, [_parse_call(part, text) for part in _list_factors(tree)])


def _list_factors(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        return [*_list_factors(tree.left), *_list_factors(tree.right)]
    return [tree]


def _parse_call(tree: ast.expr, text: str) -> ParallelStrategy:
    """One call. A value is a number, a text, True, False or None."""
    if isinstance(tree, ast.Call):
        call = tree
    else:
        call = ast.Call(tree, [], [])
    func, make = call.func, None
    if isinstance(func, ast.Attribute) and func.attr == "with_rank_order":
        make = getattr(_parse_product(func.value, text), "with_rank_order", None)
    elif isinstance(func, ast.Name) or (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)):
        name = func.id if isinstance(func, ast.Name) else func.attr  # of cs.tensor(8)
        if (make := STRATEGIES.get(name)) is None:
            raise CollsimError(describe_unknown("way of splitting", name, STRATEGIES))
    if make is None or any(word.arg is None for word in call.keywords):  # **values
        raise _build_parse_error(text)
    try:
        first = [ast.literal_eval(value) for value in call.args]
        rest = {str(word.arg): _parse_value(word.value) for word in call.keywords}
        takes = signature(make).parameters
        if stranger := next((word for word in rest if word not in takes), None):
            raise CollsimError(describe_unknown(Sentence("option of {name}", name=make.__name__), stranger, takes))
        strategy: ParallelStrategy = make(*first, **rest)
    except CollsimError:
        raise
    except (ValueError, TypeError, SyntaxError):
        raise _build_parse_error(text) from None
    return strategy


def _parse_value(tree: ast.expr) -> object:
    """A plain value; a word without quotes, which a shell takes away, is a text."""
    if isinstance(tree, ast.Name):
        return tree.id
    return ast.literal_eval(tree)


def _build_parse_error(text: object) -> CollsimError:
    if isinstance(text, str) and find_synonyms(text, STRATEGIES):
        return CollsimError(describe_unknown("way of splitting", text, STRATEGIES))
    return CollsimError(
        "{text} is no way of splitting; write 'tensor(8) * pipeline(4) * ddp()'", text=format_value(text, 200)
    )
