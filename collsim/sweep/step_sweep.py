"""Steps of training as the scenarios of a sweep: models, ways of splitting, machines and batches, each one value or
several.

The package of training is imported when a sweep asks for it: `import collsim` stays quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, TypedDict

from ..errors import CollsimError, Sentence, describe_unknown, require_word
from ..limits import MAX_SCENARIOS, require_few
from ..topology import Topology
from .scenario import (
    MODEL_SOURCES,
    OneOrMany,
    hash_parts,
    list_option_choices,
    list_pairs,
    parse_pair,
    read_model_version,
    require_filter,
)
from .scenario_networks import fingerprint, list_networks, list_values

if TYPE_CHECKING:
    from ..simulate.conditions import Background
    from ..train import Model, ParallelStrategy
    from ..train.compute.compute_costs import Compute
    from ..train.parallel.strategy import Optimizer
    from ..train.step_request import CollectiveTiming
    from ..train.workload.collective_model import CollectiveSource
    from ..train.workload.transformer import Recompute
    from ..units import ByteSize, RankSelection


class SweptStepOptions(TypedDict, total=False):
    """Options of `training_step` in a sweep: one value or several; of `compute`, `background` and `slow` one."""

    batch: OneOrMany[int | None]
    micro_batch: OneOrMany[int | None]
    network: OneOrMany[CollectiveTiming]
    compute: Compute
    optimizer: OneOrMany[Optimizer]
    interference: OneOrMany[float | None]
    ranks: OneOrMany[RankSelection | int | None]
    collectives: OneOrMany[CollectiveSource]
    memory: OneOrMany[ByteSize | None]
    step: OneOrMany[int]
    background: Background | None
    recompute: OneOrMany[Recompute]
    slow: Mapping[int, float] | None
    eager: OneOrMany[bool]


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
        topology: where all of them run.
        cases: (model, parallel, options of `training_step`) of each scenario.
        keys: id of each scenario, in the order of `cases`.
        inputs: what each scenario's row of the frame says was run, by column, in the order of `cases`.
    """

    topology: Topology
    cases: tuple[tuple[Model, ParallelStrategy, dict[str, object]], ...]
    keys: tuple[str, ...]
    inputs: tuple[dict[str, object], ...] = field(repr=False, default=())

    def figures(self, model: Model, parallel: ParallelStrategy, options: Mapping[str, Any]) -> dict[str, object]:
        """The figures of one scenario. Raises CollsimError for what cannot be run."""
        from ..train import training_step

        return training_step(model, self.topology, parallel=parallel, **options).row()


def refuse_step_options(options: Mapping[str, object]) -> None:
    """Raise CollsimError for what only steps of training have.

    Args:
        options: Arguments of `sweep`.
    """
    for name, value in options.items():
        if value is not None:
            message = "{name}= is of a sweep over training steps: say which model, as model='resnet50'"
            raise CollsimError(message, name=name)


def refuse_collective_options(options: Mapping[str, object]) -> None:
    """Raise CollsimError for what only collectives have.

    Args:
        options: Arguments of `sweep`.
    """
    for name, default in _OF_COLLECTIVES.items():
        if not (isinstance(options[name], type(default)) and options[name] == default):
            raise CollsimError(
                "{name}={value!r} is of a sweep over collectives; a sweep over models has parallel=, batch= and "
                "what training_step takes",
                name=name,
                value=options[name],
            )


def list_steps(
    model: object,
    topology: object,
    parallel: object,
    options: Mapping[str, object],
    where: Callable[[dict[str, object]], bool] | None,
) -> list[StepWork]:
    """List the steps of training of a sweep, those of a topology together.

    Args:
        model: Models, or names of them.
        topology: As `sweep` takes it.
        parallel: How a step is split.
        options: Of `training_step`, each one value or several.
        where: Keeps a scenario where it returns true for its inputs.

    Returns:
        The product, in the order topology, model, parallel, options. Where NCCL's model does not know the collectives
        of all of them, the links time all (`collectives`), unless that is an option.

    Raises:
        CollsimError: For unknown names and options, and more scenarios than a sweep may have.
    """
    models, splits = list_models(model), list_splits(parallel)
    named = {name: value for name, value in options.items() if value is not None}
    for name in named:
        if name not in (*SEVERAL, *SINGLE):
            raise CollsimError(describe_unknown("option of a training step", name, (*SEVERAL, *SINGLE)))
    require_filter(where)
    if not named.keys() & {"batch", "micro_batch"}:
        raise CollsimError("say how many samples: batch=256 (over all GPUs), or micro_batch=32 (of one)")
    several = {name: _list_option_values(name, value) for name, value in named.items() if name in SEVERAL}
    # One table has one model of collectives, or its rows could not be compared.
    if "collectives" not in several and len(set(_list_nccl_timings(splits, several))) > 1:
        several["collectives"] = ["links"]  # NCCL's model does not know all of them, and one model times one table
    single = {name: value for name, value in named.items() if name in SINGLE}
    networks = list_networks(topology)
    count = len(networks) * len(models) * len(splits) * prod(map(len, several.values()))
    require_few("scenarios in a sweep", count, MAX_SCENARIOS, "give shorter lists, or several sweeps")
    version, work = read_model_version((*MODEL_SOURCES, "train")), []
    for network in networks:
        topology_hash, scenarios = fingerprint(network), []
        for trained, split, *values in product(models, splits, *several.values()):
            choice = dict(zip(several, values, strict=True))
            row = {"model": trained.name, "topology": network.name, "parallel": split.label, **choice}
            # A list of ranks would be a cell with a list in it; the number is what a table can show.
            ranks = choice.get("ranks")
            if isinstance(ranks, Sized):
                row["ranks"] = len(ranks)
            if where is None or where(dict(row)):
                key = hash_parts([row, single, version, topology_hash, repr(trained.layers), repr(split), str(ranks)])
                scenarios.append(((trained, split, choice | single), key, row))
        if scenarios:
            cases, keys, inputs = zip(*scenarios, strict=True)
            work.append(StepWork(network, cases, keys, inputs))
    return work


def _list_nccl_timings(splits: list[ParallelStrategy], several: Mapping[str, Sequence[object]]) -> Iterator[bool]:
    """Whether NCCL's model knows the collectives, for each split and algorithm."""
    for split, algorithm in product(splits, several.get("algorithm", [None])):
        yield split.uses_nccl and algorithm is None


def _list_option_values(name: str, value: object) -> list[Any]:
    """One value or several; the ranks of one step are a list already, a plain list of numbers are counts of GPUs."""
    if name == "ranks" and isinstance(value, range):
        return [value]
    values = list_values(name, value)
    if not values:
        raise CollsimError("a sweep needs at least one {name}; the list given is empty", name=name)
    return values


def list_models(models: Any) -> list[Model]:
    """List the models of a sweep.

    Args:
        models: Models, or names of them, one or several.

    Returns:
        The models.

    Raises:
        CollsimError: For names that do not exist.
    """
    from ..train import Model, model

    listed = []
    for entry in list_values("model", models):
        if isinstance(entry, Model):
            listed.append(entry)
        else:
            listed.append(model(entry))
    if not listed:
        raise CollsimError("a sweep needs at least one model; the list given is empty")
    return listed


def list_splits(parallel: object) -> list[ParallelStrategy]:
    """List how the steps of a sweep are split.

    Args:
        parallel: Values, names, products as text, or `(name, {option: value or list})` pairs; None for ddp.

    Returns:
        The splits.

    Raises:
        CollsimError: For unknown names and options.
    """
    from ..train import ParallelStrategy, parse_strategy
    from ..train.parallel.strategy_parser import STRATEGIES

    splits: list[ParallelStrategy] = []
    if parallel is None:
        parallel = "ddp"
    for item in list_pairs("parallel", parallel):
        if isinstance(item, ParallelStrategy):
            splits.append(item)
            continue
        # Text with brackets is a whole strategy; a bare name may come with lists of options.
        if isinstance(item, str) and "(" in item:
            splits.append(parse_strategy(item))
            continue
        name, options = parse_pair("parallel", item, str)
        build: Any = STRATEGIES[require_word("way of splitting", name, STRATEGIES)]
        for choice in list_option_choices(options):
            known = inspect.signature(build).parameters
            for key in choice:
                require_word(Sentence("option of {name}", name=name), key, list(known))
            for key, option in known.items():
                if option.default is option.empty and key not in choice:
                    message = "parallel {name!r} needs its option {key}; write {{name: {name}, {key}: ...}}"
                    raise CollsimError(message, name=name, key=key)
            splits.append(build(**choice))
    if not splits:
        raise CollsimError("a sweep needs at least one parallel; the list given is empty")
    return splits
