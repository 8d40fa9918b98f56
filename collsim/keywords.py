"""Keywords that people guess from other tools: an answer with the word that collsim has for it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

from .errors import CollsimError, Sentence, describe_unknown

P = ParamSpec("P")
R = TypeVar("R")

#: What other tools call it (torch.distributed, MPI, Slurm, nccl-tests), and what collsim does. `network` and
#: `collectives` are options of a training step, so they are not guesses.
MEANINGS: dict[str, str] = {
    **dict.fromkeys(("n", "world_size", "nranks", "num_ranks", "num_gpus", "ngpus", "gpus"), "ranks"),
    **dict.fromkeys(("num_nodes", "nnodes", "n_nodes"), "nodes"),
    **dict.fromkeys(("size", "sizes", "bytes", "num_bytes", "message_size"), "nbytes"),
    **dict.fromkeys(("topologies", "machine", "machines"), "topology"),
    **dict.fromkeys(("algorithms", "algo", "algos"), "algorithm"),
    **dict.fromkeys(("operation",), "collective"),
    **dict.fromkeys(("engines", "backend", "simulator"), "engine"),
    **dict.fromkeys(("datatype", "dtypes"), "dtype"),
    **dict.fromkeys(("rank_order",), "order"),
    **dict.fromkeys(("num_channels", "nchannels"), "channels"),
    **dict.fromkeys(("num_chunks", "nchunks"), "chunks"),
}


def require_keyword(function: str, name: str, known: Collection[str]) -> None:
    """Raise CollsimError for a keyword that a function does not have but collsim has another word for.

    Args:
        function: its name, as a user calls it.
        name: the keyword that was given.
        known: the keywords that it has.
    """
    meaning = MEANINGS.get(name)
    if name in known or meaning is None:
        return
    if meaning in known:
        raise CollsimError(
            "{function} has no {name}=; did you mean {meaning}=?", function=function, name=name, meaning=meaning
        )
    if meaning == "nodes":
        message = "{function} has no {name}=; nodes are said where the machine is made: cs.machine('dgx-a100', nodes=2)"
        raise CollsimError(message, function=function, name=name)
    if meaning == "ranks" and "topology" in known:
        message = "{function} has no {name}=; the topology says how many ranks there are: cs.topology.switch(8)"
        raise CollsimError(message, function=function, name=name)


def answer_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Check the keywords of a public function: one that it does not have, or a missing argument, is a CollsimError with
    a way out and not a TypeError. Its signature stays as it is."""
    signature = inspect.signature(function)
    takes_more = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    known = [name for name, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD]
    label = function.__name__

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            require_keyword(label, name, known)
            if name not in known and not takes_more:
                raise CollsimError(describe_unknown(Sentence("keyword of {function}", function=label), name, known))
        _require_arguments(label, signature, args, kwargs)
        return function(*args, **kwargs)

    return call


def _require_arguments(label: str, signature: inspect.Signature, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise CollsimError where an argument is missing, or one is too many or given twice."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        message = "{function}: {error}; it is called as {function}{signature}"
        called = ", ".join(name for name, p in signature.parameters.items() if p.default is p.empty)
        raise CollsimError(message, function=label, error=error, signature=f"({called}, ...)") from None
