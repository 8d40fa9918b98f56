"""Steps of training as the scenarios of a sweep: models, ways of splitting, machines and batches, each one value or
several.

The room of training is imported when a sweep asks for it: `import collsim` stays quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError, Sentence, describe_unknown, require_word
from ..limits import MOST_SCENARIOS, require_few
from ..topology import Topology
from .networks import fingerprint, networks
from .scenario import _MODEL, _each_option, _listed, _pair, _pairs, key_of, model_version, require_filter

if TYPE_CHECKING:
    from ..train import Model, ParallelStrategy

#: What `training_step` takes beside model, machine and parallel, and may be several; the others are one value.
SEVERAL = (
    "batch", "micro_batch", "dtype", "network", "optimizer", "interference", "ranks", "collectives", "algorithm",
    "memory", "step", "recompute", "eager",
)  # fmt: skip
SINGLE = ("compute", "background", "slow")
#: Arguments of `sweep` that belong to collectives, and what they are unless given.
_OF_COLLECTIVES = {"collective": "allreduce", "nbytes": "64MiB", "engine": "lockstep", "order": None}


@dataclass(frozen=True)
class StepWork:
    """Steps of training on one topology.

    Attributes:
        cases: (model, parallel, options of `training_step`) of each scenario, `keys` their ids, `inputs` their columns.
    """

    topology: Topology
    cases: tuple[tuple[Model, ParallelStrategy, dict[str, Any]], ...]
    keys: tuple[str, ...]
    inputs: tuple[dict[str, Any], ...] = field(repr=False, default=())

    def figures(self, model: Model, parallel: ParallelStrategy, options: Mapping[str, Any]) -> dict[str, Any]:
        """The figures of one scenario. Raises CollsimError for what cannot be run."""
        from ..train import training_step

        return training_step(model, self.topology, parallel=parallel, **options).row()


def require_collectives_alone(given: Mapping[str, Any]) -> None:
    """Refuse what only steps of training have. Raises CollsimError."""
    for name, value in given.items():
        if value is not None:
            why = "{name}= is of a sweep over training steps: say which model, as model='resnet50'"
            raise CollsimError(why, name=name)


def require_steps_alone(given: Mapping[str, Any]) -> None:
    """Refuse what only collectives have. Raises CollsimError."""
    for name, usual in _OF_COLLECTIVES.items():
        if not (isinstance(given[name], type(usual)) and given[name] == usual):
            raise CollsimError(
                "{name}={given!r} is of a sweep over collectives; a sweep over models has parallel=, batch= and "
                "what training_step takes",
                name=name,
                given=given[name],
            )


def steps(
    model: Any,
    topology: Any,
    parallel: Any,
    options: Mapping[str, Any],
    where: Callable[[dict[str, Any]], bool] | None,
) -> list[StepWork]:
    """The product, in the order topology, model, parallel, options, less what `where` refuses."""
    chosen, ways = models(model), splits(parallel)
    named = {name: value for name, value in options.items() if value is not None}
    for name in named:
        if name not in (*SEVERAL, *SINGLE):
            raise CollsimError(describe_unknown("option of a training step", name, (*SEVERAL, *SINGLE)))
    require_filter(where)
    if not named.keys() & {"batch", "micro_batch"}:
        raise CollsimError("say how many samples: batch=256 (over all GPUs), or micro_batch=32 (of one)")
    several = {name: _values(name, value) for name, value in named.items() if name in SEVERAL}
    single = {name: value for name, value in named.items() if name in SINGLE}
    places = networks(topology)
    count = len(places) * len(chosen) * len(ways) * prod(map(len, several.values()))
    require_few("scenarios in a sweep", count, MOST_SCENARIOS, "give shorter lists, or several sweeps")
    version, work = model_version((*_MODEL, "train")), []
    for network in places:
        print_, found = fingerprint(network), []
        for one, way, *values in product(chosen, ways, *several.values()):
            given = dict(zip(several, values, strict=True))
            row = {"model": one.name, "topology": network.name, "parallel": way.label, **given}
            if isinstance(given.get("ranks"), Sized):
                row["ranks"] = len(given["ranks"])
            if where is None or where(dict(row)):
                rest = given | single
                key = key_of([row, single, version, print_, repr(one.layers), repr(way), str(given.get("ranks"))])
                found.append(((one, way, rest), key, row))
        if found:
            cases, keys, inputs = zip(*found, strict=True)
            work.append(StepWork(network, cases, keys, inputs))
    return work


def _values(name: str, value: Any) -> list[Any]:
    """One value or several; the ranks of one step are a list already, a plain list of numbers are counts of GPUs."""
    if name == "ranks" and isinstance(value, range):
        return [value]
    found = _listed(value)
    if not found:
        raise CollsimError("a sweep needs at least one {name}; the list given is empty", name=name)
    return found


def models(given: Any) -> list[Model]:
    """Models, by themselves or by name. Raises CollsimError for names that do not exist."""
    from ..train import Model, model

    found = [one if isinstance(one, Model) else model(one) for one in _listed(given)]
    if not found:
        raise CollsimError("a sweep needs at least one model; the list given is empty")
    return found


def splits(given: Any) -> list[ParallelStrategy]:
    """Ways of splitting: values, names, products as text, or `(name, {option: value or list})` pairs. Raises
    CollsimError."""
    from ..train import ParallelStrategy, parse_strategy
    from ..train.parallel import STRATEGIES

    found: list[ParallelStrategy] = []
    for item in _pairs("ddp" if given is None else given):
        if isinstance(item, ParallelStrategy):
            found.append(item)
            continue
        if isinstance(item, str) and "(" in item:
            found.append(parse_strategy(item))
            continue
        name, options = _pair("parallel", item, str)
        make: Any = STRATEGIES[require_word("way of splitting", name, STRATEGIES)]
        for one in _each_option(options):
            known = inspect.signature(make).parameters
            for key in one:
                require_word(Sentence("option of {name}", name=name), key, list(known))
            for key, option in known.items():
                if option.default is option.empty and key not in one:
                    why = "parallel {name!r} needs its option {key}; write {{name: {name}, {key}: ...}}"
                    raise CollsimError(why, name=name, key=key)
            found.append(make(**one))
    if not found:
        raise CollsimError("a sweep needs at least one parallel; the list given is empty")
    return found
