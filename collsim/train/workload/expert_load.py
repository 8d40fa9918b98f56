"""How unevenly the tokens of a mixture go to its experts, and what that leaves to each GPU.

Capacity: Lepikhin et al. 2021 (GShard, arXiv 2006.16668, section 2.2) and Fedus et al. 2022 (Switch Transformer, arXiv
2101.03961, equation 3): an expert takes `capacity_factor · tokens · top_k / experts` tokens of each GPU, and what is
routed to it beyond that is dropped. Megatron-LM, megatron/core/transformer/moe/moe_utils.py (get_capacity), counts the
same: `--moe-expert-capacity-factor`, and `--moe-pad-expert-input-to-capacity` to send full buffers always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from ...collective import Load, build_load_profile
from ...dtypes import Floats
from ...errors import CollsimError, format_value

#: How uneven routing is: a word of alltoallv, the exponent of Zipf's law, or what experts, or GPUs, were measured to
#: receive.
Imbalance: TypeAlias = Load | float | str | Sequence[float]
#: What computes while tokens travel; see `expert`.
OverlapWith: TypeAlias = Literal["nothing", "experts", "shared", "batch"]
OVERLAPS: tuple[OverlapWith, ...] = get_args(OverlapWith)
#: Rounds in which the weights of a choice approach its probabilities, and how near is near enough.
_ROUNDS, _NEAR = 200, 1e-9


@dataclass(frozen=True)
class ExpertRouting:
    """How tokens are routed to experts, whatever their number.

    Attributes:
        imbalance: a word, the exponent of Zipf's law, or counts of experts or of GPUs.
        capacity_factor: tokens that an expert takes, over the mean; 0: all.
        padded: whether buffers are filled up to that.
        nodes: on which the experts are, where a token may go to some of them only.
        max_nodes: so many; 0: to all.
    """

    imbalance: str | float | tuple[float, ...] = "even"
    capacity_factor: float = 0.0
    padded: bool = False
    nodes: int = 1
    max_nodes: int = 0

    @property
    def is_even(self) -> bool:
        """Whether each GPU has as many tokens as are routed on average."""
        return self.imbalance == "even" and not 0 < self.capacity_factor < 1 and not self.padded

    def find_load(self, experts: int, top_k: int, gpus: int) -> ExpertLoad:
        """Find what GPUs that share experts have of them.

        Args:
            experts: Experts of the layer, a multiple of `gpus`.
            top_k: Experts that a token goes to.
            gpus: GPUs that share them.

        Returns:
            The load of each GPU.

        Raises:
            CollsimError: There are counts of another number of experts or GPUs.
        """
        return _find_load(self, experts, top_k, gpus)


#: No expert has more tokens than another, and none is dropped.
EVEN_ROUTING = ExpertRouting()


@dataclass(frozen=True, eq=False)
class ExpertLoad:
    """What GPUs have of a layer's experts.

    Attributes:
        shares: (gpus, experts of a GPU) share of all routed tokens that each expert is chosen for.
        computed: (gpus, experts of a GPU) share of them that it receives and computes.
        top_k: experts that a token goes to.
        dropped: share of the routed tokens that no expert computes.
        nodes: on which the experts are.
        max_nodes: to which a token goes; 0: to all.
    """

    shares: Floats
    computed: Floats
    top_k: int
    dropped: float
    nodes: int = 1
    max_nodes: int = 0

    @cached_property
    def gpu_loads(self) -> tuple[float, ...]:
        """What the experts of each GPU compute, over what they would of an even routing without a limit."""
        return tuple((self.computed.sum(axis=1) * len(self.computed)).tolist())

    @property
    def busiest(self) -> float:
        """The largest of them: all GPUs wait for that one."""
        return max(self.gpu_loads)

    @property
    def is_padded(self) -> bool:
        """Whether buffers are filled up: some expert computes more than it is chosen for."""
        return bool((self.computed > self.shares).any())

    def count_reached(self, parts: int) -> tuple[float, ...]:
        """Count how often a token goes to each node, or GPU, that has an expert of it: once, however many it has there.

        Args:
            parts: Nodes or GPUs, neighbours of as many GPUs each.

        Returns:
            For each part the mean over all tokens, 0 to 1.

        Examples:
            >>> load = ExpertRouting().find_load(experts=4, top_k=2, gpus=2)
            >>> f"{sum(load.count_reached(2)):.3f}"  # of six pairs of four experts two are on one GPU
            '1.667'
            >>> for most in (0, 4):  # DeepSeek-V3: 256 experts on 8 nodes, 8 for a token, on at most 4 nodes
            ...     load = ExpertRouting(nodes=8, max_nodes=most).find_load(experts=256, top_k=8, gpus=64)
            ...     print(f"{sum(load.count_reached(8)):.2f}")
            5.29
            3.90
        """
        return _count_reached(self, parts)


def parse_imbalance(value: object) -> str | float | tuple[float, ...]:
    """Read how uneven routing is.

    Args:
        value: A word (`even`, `zipf`, `hot`), the exponent of Zipf's law, or counts; as text, with commas between them.

    Returns:
        The same as a value that can be compared.

    Raises:
        CollsimError: It is none of them.

    Examples:
        >>> parse_imbalance("3,1")
        (3.0, 1.0)
    """
    if isinstance(value, str) and value in get_args(Load):
        return value
    items: object = value
    if isinstance(value, str):
        items = value.split(",")
        if len(items) == 1:
            items = value
    try:
        if isinstance(items, bool):
            raise TypeError
        numbers = np.asarray(items, dtype=np.float64)
    except (ValueError, TypeError):
        numbers = np.full(1, np.nan)
    if numbers.ndim < 2 and np.isfinite(numbers).all() and (numbers >= 0).all():
        if not numbers.ndim:
            return float(numbers)
        if numbers.any():
            return tuple(numbers.tolist())
    message = (
        "imbalance={value} must be even, zipf, hot, the exponent of Zipf's law (1.2), or what each expert or GPU "
        "receives (3,1,1,1)"
    )
    raise CollsimError(message, value=format_value(value))


@lru_cache(maxsize=256)
def _find_load(routing: ExpertRouting, experts: int, top_k: int, gpus: int) -> ExpertLoad:
    shares = _limit_shares(_build_shares(routing.imbalance, experts, gpus), 1 / top_k)
    capacity = routing.capacity_factor / experts
    where = routing.nodes, routing.max_nodes
    if 0 < routing.max_nodes * (experts // routing.nodes) < top_k:
        message = "max_nodes={most}: {nodes} nodes have {held} experts each, fewer than the {top_k} of a token together"
        raise CollsimError(message, most=where[1], nodes=where[0], held=experts // where[0], top_k=top_k)
    if not capacity:
        return ExpertLoad(shares, shares, top_k, 0.0, *where)
    computed = np.minimum(shares, capacity)
    dropped = float(1 - computed.sum())
    if routing.padded:
        computed = np.full_like(shares, capacity)
    return ExpertLoad(shares, computed, top_k, max(0.0, dropped), *where)


def _build_shares(imbalance: str | float | tuple[float, ...], experts: int, gpus: int) -> Floats:
    """(gpus, experts of a GPU) shares of all routed tokens; neighbours are on one GPU, as in Megatron-LM."""
    if isinstance(imbalance, tuple):
        counts = np.array(imbalance)
        if len(counts) == gpus != experts:
            counts = np.repeat(counts, experts // gpus)
        if len(counts) != experts:
            message = "imbalance has {count} counts; the layer has {experts} experts on {gpus} GPUs"
            raise CollsimError(message, count=len(counts), experts=experts, gpus=gpus)
        shares: Floats = counts / counts.sum()
        return shares.reshape(gpus, -1)
    # Experts in the order of their load are dealt to the GPUs in turn, as who balances them by hand would.
    profile = build_load_profile(experts, imbalance)
    profile /= profile.sum()
    return profile.reshape(-1, gpus).T


def _limit_shares(shares: Floats, most: float) -> Floats:
    """A token goes to an expert once: what an expert would have beyond that, the others have."""
    limited = shares
    while (limited > most * (1 + 1e-12)).any():
        is_full = limited >= most
        rest = limited[~is_full].sum()
        if not rest:  # no other expert is ever chosen
            return np.where(is_full, most, (1 - most * is_full.sum()) / max(1, (~is_full).sum()))
        limited = np.where(is_full, most, limited * (1 - most * is_full.sum()) / rest)
    return limited


@lru_cache(maxsize=256)  # every pass of a step asks for the same few
def _count_reached(load: ExpertLoad, parts: int) -> tuple[float, ...]:
    shares, computed = (table.reshape(parts, -1) for table in (load.shares, load.computed))
    weights = _find_choice_weights(tuple(shares.ravel().tolist()), load.top_k).reshape(parts, -1)
    limit = load.top_k, load.nodes, load.max_nodes
    all_choices = _sum_choices(weights.ravel(), *limit)
    # A token is dropped at an expert with the same probability as any other that was routed there.
    lost = 1 - np.divide(computed, shares, out=np.ones_like(shares), where=computed < shares)
    missed = []
    for part in range(parts):
        other_weights = weights.copy()
        other_weights[part] *= lost[part]
        missed.append(float(_sum_choices(other_weights.ravel(), *limit) / all_choices))
    return tuple(1 - share for share in missed)


@lru_cache(maxsize=64)
def _find_choice_weights(shares: tuple[float, ...], top_k: int) -> Floats:
    """Weights of experts of which `top_k` different ones are drawn (each set in proportion to the product of its
    weights), so that each is drawn as often as its share says (Chen, Dempster, Liu 1994, Biometrika 81, page 457)."""
    wanted = np.minimum(np.array(shares) * top_k, 1 - _NEAR)
    weights: Floats = wanted / (1 - wanted)
    if np.ptp(wanted) < _NEAR or top_k == len(shares):
        return np.ones_like(wanted)
    for _ in range(_ROUNDS):
        without = _sum_choices_without(weights, top_k - 1)
        drawn = weights * without / _sum_choices(weights, top_k)
        if np.abs(drawn - wanted).max() < _NEAR:
            break
        weights = wanted / without
        weights /= weights[weights > 0].mean()
    return weights


def _sum_choices(weights: Floats, count: int, nodes: int = 1, max_nodes: int = 0) -> float:
    """The sum over all sets of so many experts, on at most `max_nodes` of the nodes, of the products of their weights.

    DeepSeek-AI 2024 (arXiv 2412.19437, section 2.1.2): a token goes to the nodes whose best experts have the largest
    scores, and there to the best experts. Its nodes are then few, whichever they are; here each set on few enough nodes
    is as likely as without the limit, over the sum of all such sets. Drawn scores reach 1 to 2 % more nodes.
    """
    # Of sets of 0 to `count` experts on 0 to `nodes` nodes, one node after another.
    sums = np.eye(1, count + 1).T * np.eye(1, nodes + 1)
    for node_weights in weights.reshape(nodes, -1):
        of_node = np.eye(1, count + 1)
        _extend_sums(of_node, node_weights)
        with_node = sums.copy()
        for taken in range(1, count + 1):
            with_node[taken:, 1:] += of_node[0, taken] * sums[: count + 1 - taken, :-1]
        sums = with_node
    return float(sums[count, : (max_nodes or nodes) + 1].sum())


def _extend_sums(sums: Floats, weights: Floats, *, skips_own: bool = False) -> None:
    """Add to the sums over sets of 0, 1, 2 ... experts an expert after another; to each row all but the expert of its
    number where `skips_own`."""
    for number, weight in enumerate(weights):
        row = sums[number].copy() if skips_own else None
        sums[:, 1:] += weight * sums[:, :-1]
        if row is not None:
            sums[number] = row


def _sum_choices_without(weights: Floats, count: int) -> Floats:
    """(experts,) the same sum without each of the experts."""
    sums = np.zeros((len(weights), count + 1))
    sums[:, 0] = 1.0
    _extend_sums(sums, weights, skips_own=True)
    return sums[:, count]
