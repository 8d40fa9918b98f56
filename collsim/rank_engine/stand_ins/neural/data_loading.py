"""`torch.utils.data`: sets of samples, batches of them, and the part of a rank (torch/utils/data, torch 2.13)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from types import GeneratorType, ModuleType

import numpy as np

from ..gradients import Value
from ..tensors import KnownModule, Tensor, as_tensor
from ..torch_functions import TensorFunctions
from .refused_options import refuse_changed


class Dataset:
    """A set of samples; a program's own has `__len__` and `__getitem__`."""


class TensorDataset(Dataset):
    """The rows of tensors."""

    def __init__(self, *tensors: Tensor) -> None:
        """Tensors of as many rows each."""
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, position: int) -> tuple[Tensor, ...]:
        return tuple(tensor[position] for tensor in self.tensors)


class Subset(Dataset):
    """Some samples of a set."""

    def __init__(self, dataset: Value, indices: Sequence[int]) -> None:
        """The samples at positions of a set."""
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, position: int) -> Value:
        return self.dataset[self.indices[position]]


class DistributedSampler:
    """The samples of a rank: every so many-th one, and some twice so that all ranks have as many."""

    #: The number of this rank, and how many there are; set for each rank.
    rank_of = (0, 1)

    def __init__(
        self,
        dataset: Value,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        """The part of a rank.

        Args:
            dataset: The samples.
            num_replicas: Ranks; None for all.
            rank: None for this one.
            shuffle: Whether they are in another order in each epoch.
            seed: Of the orders, the same on all ranks.
            drop_last: Whether samples are left out in place of taken twice.
        """
        self.dataset, self.shuffle, self.seed, self.epoch = dataset, shuffle, seed, 0
        self.rank = self.rank_of[0] if rank is None else rank
        self.num_replicas = self.rank_of[1] if num_replicas is None else num_replicas
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.drop_last = drop_last
        share = len(dataset) / self.num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * self.num_replicas

    def set_epoch(self, epoch: int) -> None:
        """Take the order of an epoch.

        Args:
            epoch: Its number; the order is that of the seed and this number together.
        """
        self.epoch = epoch

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        positions = np.arange(len(self.dataset))
        if self.shuffle:
            positions = np.random.default_rng(self.seed + self.epoch).permutation(positions)
        return iter(np.resize(positions, self.total_size)[self.rank :: self.num_replicas].tolist())


class DataLoader:
    """Batches of samples."""

    #: Of the rank, for its random numbers; set for each rank.
    functions: TensorFunctions

    @refuse_changed("batch_sampler", "worker_init_fn", "generator")
    def __init__(
        self,
        dataset: Value,
        batch_size: int = 1,
        shuffle: bool | None = None,
        sampler: Value = None,
        batch_sampler: None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Value]], Value] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: None = None,
        multiprocessing_context: object = None,
        generator: None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        """The batches of a set.

        Args:
            dataset: The samples.
            batch_size: Samples of a batch.
            shuffle: Whether they are in another order each time.
            sampler: Their order; not together with `shuffle`.
            batch_sampler: Refused.
            num_workers: Not used.
            collate_fn: Makes a batch of samples; None to stack them.
            pin_memory: Not used.
            drop_last: Whether a smaller last batch is left out.
            timeout: Not used.
            worker_init_fn: Refused.
            multiprocessing_context: Not used.
            generator: Refused.
            prefetch_factor: Not used.
            persistent_workers: Not used.
            pin_memory_device: Not used.
            in_order: Not used.
        """
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.dataset, self.batch_size, self.shuffle, self.sampler = dataset, batch_size, shuffle, sampler
        self.drop_last, self.collate_fn = drop_last, collate_fn or stack_samples

    def __len__(self) -> int:
        share = len(self.dataset if self.sampler is None else self.sampler) / self.batch_size
        return math.floor(share) if self.drop_last else math.ceil(share)

    def __iter__(self) -> Iterator[Value]:
        positions: list[int] = list(range(len(self.dataset)) if self.sampler is None else self.sampler)
        if self.shuffle:
            positions = self.functions.randperm(len(positions)).tolist()
        batches = [positions[first : first + self.batch_size] for first in range(0, len(positions), self.batch_size)]
        return map(self._collate, batches[: len(self)])

    def _collate(self, positions: Sequence[int]) -> Value:
        batch = self.collate_fn([self.dataset[position] for position in positions])
        if not isinstance(batch, GeneratorType):
            return batch
        try:  # a function of the program
            next(batch)
        except StopIteration as end:
            return end.value
        raise RuntimeError("a collate_fn that waits for another rank is not simulated; send and receive outside of it")


def stack_samples(samples: list[Value]) -> Value:
    """Samples as a batch: tensors and numbers as a tensor with one more dimension, tuples part by part.

    Args:
        samples: Of one batch.
    """
    first = samples[0]
    if isinstance(first, tuple | list):
        return [stack_samples(list(parts)) for parts in zip(*samples, strict=True)]
    if isinstance(first, dict):
        return {name: stack_samples([sample[name] for sample in samples]) for name in first}
    if isinstance(first, str):
        return samples
    return as_tensor(np.stack([np.asarray(sample) for sample in samples]))


@refuse_changed("generator")
def split_randomly(
    functions: TensorFunctions, dataset: Value, lengths: Sequence[float], generator: None = None
) -> list[Subset]:
    """`torch.utils.data.random_split`: parts of a set, in random order.

    Args:
        functions: Of the rank, for its random numbers.
        dataset: The samples.
        lengths: Samples of each part, or its share of them; what shares leave goes to the first parts, one to each.
        generator: Refused.

    Raises:
        ValueError: The lengths are not all samples.
    """
    counts: list[Value] = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if any(not 0 <= length <= 1 for length in lengths):
            raise ValueError(f"fractions {list(lengths)} are not between 0 and 1")
        counts = [math.floor(length * len(dataset)) for length in lengths]
        for position in range(len(dataset) - sum(counts)):
            counts[position % len(counts)] += 1
    if sum(counts) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = functions.randperm(len(dataset)).tolist()
    ends = np.cumsum(counts).tolist()
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)]


def build_data_modules(functions: TensorFunctions, rank: int, ranks: int) -> dict[str, ModuleType]:
    """The modules `torch.utils.data` and its parts.

    Args:
        functions: Of the rank, for its random numbers.
        rank: This rank.
        ranks: How many there are.

    Returns:
        Modules by name.
    """
    utils, data, part = (KnownModule(f"torch.utils{name}") for name in ("", ".data", ".data.distributed"))
    sampler = type("DistributedSampler", (DistributedSampler,), {"rank_of": (rank, ranks)})
    loader = type("DataLoader", (DataLoader,), {"functions": functions})
    vars(part).update(DistributedSampler=sampler)
    vars(data).update(Dataset=Dataset, TensorDataset=TensorDataset, Subset=Subset, DataLoader=loader)
    vars(data).update(
        DistributedSampler=sampler, random_split=functools.partial(split_randomly, functions), distributed=part
    )
    vars(utils).update(data=data)
    return {module.__name__: module for module in (utils, data, part)}
