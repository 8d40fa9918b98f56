"""`torch.distributed` for one rank of an engine, with the semantics of gloo.

A send waits for its receive at every size, tags match exactly, `dst` and `src` are global ranks also inside of a group,
and groups are named by a counter of each process, so a group that only its members make shifts the names of later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .calls import poll, wait_for
from .engine import ANY, Blocking, CollectivePost, Contributions, Engine, MessagePost, PostedCall, require_tag
from .stand_ins.tensors import KnownModule, build_torch_module

#: The extent of a collective whose buffers need not agree.
_NO_EXTENT = (0, "")


@dataclass(frozen=True)
class ProcessGroup:
    """A process group: its name, which all members share, and its global ranks."""

    name: Hashable
    members: tuple[int, ...]


class AsyncWork:
    """The handle of an asynchronous call."""

    def __init__(self, operation: PostedCall, finish: Callable[[], None] | None = None) -> None:
        """The handle of a call that was posted.

        Args:
            operation: What was posted.
            finish: Writes the result into the caller's buffers when it is complete; None for calls without one.
        """
        self.operation = operation
        self._finish = finish

    def wait(self, timeout: object = None) -> Blocking:
        """Wait until it is complete; only then does the buffer hold the result.

        Args:
            timeout: not used.

        Returns:
            True.
        """
        operation = self.operation
        yield operation  # what `wait_for` does, without a generator more for each message
        if operation.error is not None:
            raise operation.error
        if self._finish is not None:
            self._finish()
            self._finish = None
        return True

    def is_completed(self) -> Blocking:
        """Whether it is complete; asking lets other ranks run.

        Returns:
            Whether it is.
        """
        yield from poll()
        return self.operation.settle()


class P2POp:
    """A send or a receive for `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Blocking],
        tensor: np.ndarray,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
    ) -> None:
        """One operation of a batch; nothing is posted yet.

        Args:
            op: `dist.isend` or `dist.irecv`.
            tensor: What is sent or filled.
            peer: Global rank.
            group: None for all ranks.
            tag: Of the message.
        """
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "SUM": np.add,
    "AVG": np.add,
    "PRODUCT": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
}


class TorchDistributed:
    """The functions of `torch.distributed` for one rank.

    Args:
        engine: the ranks of the run.
        rank: this rank.

    Shared parameters:
        tensor, output, output_tensor: What is sent, or filled in place when the call is complete.
        tensor_list, gather_list, output_tensor_list: A tensor for each rank of the group, filled in place; where only
            one rank gets them, None on the others.
        input_tensor, input_list, input_tensor_list, scatter_list: What this rank contributes; a list has a tensor for
            each rank of the group, and is None where only another rank gives them.
        object_list: Replaced in place by that of the source.
        src, dst: Global rank, also in a group; None as source of a receive takes a message of any rank.
        group_src, group_dst: In place of these, the number in the group.
        op: Reduction, a key of `REDUCTIONS`.
        group: None for all ranks.
        async_op: Return an AsyncWork at once in place of waiting.
        tag: Of the message; sends and receives of one tag meet.
    """

    def __init__(self, engine: Engine, rank: int) -> None:
        self.engine, self.rank = engine, rank
        self.world = ProcessGroup("world", tuple(range(engine.size)))
        self._groups_made = 0

    # ---- point to point

    def isend(
        self,
        tensor: np.ndarray,
        dst: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_dst: int | None = None,
    ) -> AsyncWork:
        """Post a send."""
        _require_tensor(tensor, "isend")
        target = self._check_peer(self._find_global(dst, group_dst, group), "dst")
        if target == self.rank:
            # gloo refuses this; a simulated success would hide the mistake.
            raise RuntimeError("gloo connects no rank with itself; copy the tensor with copy_")
        post = MessagePost(
            self.rank,
            "isend",
            self.engine.line_of_call(),
            (target,),
            source=self.rank,
            target=target,
            tag=require_tag(tag),
            communicator=(group or self.world).name,
            buffer=tensor,
            nbytes=tensor.nbytes,
        )
        return AsyncWork(self.engine.post_send(post))

    def irecv(
        self,
        tensor: np.ndarray,
        src: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_src: int | None = None,
    ) -> AsyncWork:
        """Post a receive."""
        _require_tensor(tensor, "irecv")
        src = self._find_global(src, group_src, group)
        if src is None:
            # torch's recv without a source takes a message from anybody.
            source = ANY
            peers = tuple(rank for rank in (group or self.world).members if rank != self.rank)
        else:
            source = self._check_peer(src, "src")
            peers = (source,)
        post = MessagePost(
            self.rank,
            "irecv",
            self.engine.line_of_call(),
            peers,
            is_any=source == ANY,
            source=source,
            target=self.rank,
            tag=require_tag(tag),
            communicator=(group or self.world).name,
            buffer=tensor,
            nbytes=tensor.nbytes,
        )
        return AsyncWork(self.engine.post_receive(post))

    def send(
        self,
        tensor: np.ndarray,
        dst: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_dst: int | None = None,
    ) -> Blocking:
        """Send, and wait until it was received."""
        dst = self._find_global(dst, group_dst, group)
        if dst == self.rank:
            raise ValueError(f"Invalid destination rank {dst}: a rank does not send to itself")
        work = self.isend(tensor, dst, group, tag)
        work.operation.call = "send"
        yield from work.wait()

    def recv(
        self,
        tensor: np.ndarray,
        src: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_src: int | None = None,
    ) -> Blocking:
        """Receive; returns the source."""
        work = self.irecv(tensor, src, group, tag, group_src)
        work.operation.call = "recv"
        yield from work.wait()
        assert isinstance(work.operation, MessagePost)
        return work.operation.source

    def batch_isend_irecv(self, p2p_op_list: Sequence[P2POp]) -> list[object]:
        """Post several sends and receives, one after the other, as gloo does."""
        return [post.op(post.tensor, post.peer, post.group, post.tag) for post in p2p_op_list]

    def _find_global(self, rank: int | None, group_rank: int | None, group: ProcessGroup | None) -> int | None:
        """The global rank that a call names, as such or by its number in a group."""
        if group_rank is None:
            return rank
        if rank is not None:
            raise ValueError("Can't specify both the global rank and its number in the group")
        return self.get_global_rank(group, group_rank)

    def _check_peer(self, peer: int | None, name: str) -> int:
        if type(peer) is not int and (isinstance(peer, bool) or not isinstance(peer, int | np.integer | None)):
            raise TypeError(f"{name}={peer!r} is no whole number")
        if peer is None or not 0 <= peer < self.engine.size:
            raise ValueError(f"{name}={peer!r} is no rank from 0 to {self.engine.size - 1}")
        return int(peer)

    def _find_root(self, rank: int | None, name: str, group: ProcessGroup | None) -> int:
        """The position in its group of a global rank."""
        members = (group or self.world).members
        if self.rank not in members:
            return -1
        if self._check_peer(rank, name) not in members:
            raise ValueError(f"{name}={rank}: global rank {rank} is not part of the group of ranks {members}")
        return members.index(int(rank or 0))

    # ---- collectives

    def _collective(
        self,
        call: str,
        signature: tuple[Hashable, ...],
        extent: tuple[int, str],
        value: object,
        store: Callable[[Contributions], None],
        group: ProcessGroup | None,
        async_op: bool,
        root: int = -1,
    ) -> Blocking:
        """Post a collective; its result is stored when it is waited for."""
        group = group or self.world
        # As in torch: ranks outside the group return at once, with a warning there.
        if self.rank not in group.members:
            return None
        post = CollectivePost(
            self.rank,
            call,
            self.engine.line_of_call(),
            communicator=group.name,
            signature=(call, *signature),
            extent=extent,
            value=value,
            root=root,
        )
        self.engine.post_collective(post, group.members)
        work = AsyncWork(post, lambda: store(post.result))
        if async_op:
            return work
        yield from work.wait()
        return None

    def barrier(self, group: ProcessGroup | None = None, async_op: bool = False, **_: object) -> Blocking:
        """Wait for all members."""
        return (yield from self._collective("barrier", (), _NO_EXTENT, None, lambda values: None, group, async_op))

    def all_reduce(
        self, tensor: np.ndarray, op: str = "SUM", group: ProcessGroup | None = None, async_op: bool = False
    ) -> Blocking:
        """Every rank gets the reduction of all."""
        group = group or self.world
        members = len(group.members)
        _require_tensor(tensor, "all_reduce")

        def store(values: Contributions) -> None:
            total = values.compute_once(op, lambda: _reduce(values, op, members))
            tensor[...] = total.reshape(tensor.shape)

        signature = (op,)
        return (
            yield from self._collective(
                "all_reduce", signature, _measure(tensor), tensor.copy(), store, group, async_op
            )
        )

    def reduce(
        self,
        tensor: np.ndarray,
        dst: int | None = None,
        op: str = "SUM",
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """One rank gets the reduction of all."""
        group = group or self.world
        members, root = len(group.members), self._find_root(dst, "dst", group)

        def store(values: list[np.ndarray]) -> None:
            if self.rank == dst:
                tensor[...] = _reduce(values, op, members).reshape(tensor.shape)

        signature = (op, dst)
        return (
            yield from self._collective(
                "reduce", signature, _measure(tensor), tensor.copy(), store, group, async_op, root
            )
        )

    def broadcast(
        self, tensor: np.ndarray, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False
    ) -> Blocking:
        """Every rank gets what one has."""
        group = group or self.world
        root = self._find_root(src, "src", group)

        def store(values: list[np.ndarray]) -> None:  # gloo: a smaller message fills the beginning
            tensor.reshape(-1)[: values[root].size] = values[root].reshape(-1)

        signature = (src,)
        return (
            yield from self._collective(
                "broadcast", signature, _measure(tensor), tensor.copy(), store, group, async_op, root
            )
        )

    def all_gather(
        self,
        tensor_list: Sequence[np.ndarray],
        tensor: np.ndarray,
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets what all have, a tensor each."""
        members = len((group or self.world).members)
        if len(tensor_list) != members:
            raise RuntimeError(f"all_gather: the list has {len(tensor_list)} tensors, and there are {members} ranks")

        def store(values: list[np.ndarray]) -> None:
            for target, value in zip(tensor_list, values, strict=True):
                target[...] = value

        return (yield from self._collective("all_gather", (), _measure(tensor), tensor.copy(), store, group, async_op))

    def all_gather_into_tensor(
        self,
        output_tensor: np.ndarray,
        input_tensor: np.ndarray,
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets what all have, in one tensor."""

        def store(values: list[np.ndarray]) -> None:
            output_tensor[...] = np.concatenate([v.reshape(-1) for v in values]).reshape(output_tensor.shape)

        value = input_tensor.copy()
        return (
            yield from self._collective(
                "all_gather_into_tensor", (), _measure(input_tensor), value, store, group, async_op
            )
        )

    def gather(
        self,
        tensor: np.ndarray,
        gather_list: Sequence[np.ndarray] | None = None,
        dst: int | None = 0,
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """One rank gets what all have, a tensor each."""
        root, members = self._find_root(dst, "dst", group), len((group or self.world).members)
        if self.rank == dst and (gather_list is None or len(gather_list) != members):
            # torch checks the list before it sends, so the error is at the call.
            raise ValueError(f"gather: rank {dst} wants gather_list= with a tensor for each of the {members} ranks")
        if self.rank != dst and gather_list:
            raise ValueError(f"gather: gather_list= is for rank {dst} alone")

        def store(values: list[np.ndarray]) -> None:
            if self.rank == dst and gather_list is not None:
                for target, value in zip(gather_list, values, strict=True):
                    target[...] = value

        signature = (dst,)
        return (
            yield from self._collective(
                "gather", signature, _measure(tensor), tensor.copy(), store, group, async_op, root
            )
        )

    def scatter(
        self,
        tensor: np.ndarray,
        scatter_list: Sequence[np.ndarray] | None = None,
        src: int | None = 0,
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one of the tensors that one rank has."""
        group = group or self.world
        root = self._find_root(src, "src", group)
        position = group.members.index(self.rank)
        if self.rank == src:
            _check_scatter(tensor, scatter_list or (), len(group.members))
        elif scatter_list:
            raise ValueError(f"scatter: scatter_list= is for rank {src} alone")

        def store(values: list[Any]) -> None:
            tensor[...] = values[root][position]

        value = [part.copy() for part in scatter_list or ()]
        signature = (src,)
        return (
            yield from self._collective("scatter", signature, _measure(tensor), value, store, group, async_op, root)
        )

    def reduce_scatter(
        self,
        output: np.ndarray,
        input_list: Sequence[np.ndarray],
        op: str = "SUM",
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one part of the reduction of all; a tensor for each part."""
        return (yield from self._scatter_sum("reduce_scatter", output, input_list, op, group, async_op))

    def reduce_scatter_tensor(
        self,
        output: np.ndarray,
        input: np.ndarray,
        op: str = "SUM",
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one part of the reduction of all."""
        parts = np.split(input.reshape(-1), len((group or self.world).members))
        return (yield from self._scatter_sum("reduce_scatter_tensor", output, parts, op, group, async_op))

    def _scatter_sum(
        self,
        call: str,
        output: np.ndarray,
        parts: Sequence[np.ndarray],
        op: str,
        group: ProcessGroup | None,
        async_op: bool,
    ) -> Blocking:
        """Reduce part by part, and give each rank its own."""
        group = group or self.world
        position = group.members.index(self.rank)
        members = len(group.members)

        def store(values: list[Any]) -> None:
            output[...] = _reduce([value[position] for value in values], op, members).reshape(output.shape)

        value = [part.copy() for part in parts]
        signature = (op,)
        return (yield from self._collective(call, signature, _measure(output), value, store, group, async_op))

    def all_to_all(
        self,
        output_tensor_list: Sequence[np.ndarray],
        input_tensor_list: Sequence[np.ndarray],
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one tensor from each."""
        return (yield from self._exchange("all_to_all", output_tensor_list, input_tensor_list, group, async_op))

    def all_to_all_single(
        self,
        output: np.ndarray,
        input: np.ndarray,
        output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None,
        group: ProcessGroup | None = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one part of each rank's tensor."""
        members = len((group or self.world).members)
        outputs, inputs = _cut(output, output_split_sizes, members), _cut(input, input_split_sizes, members)
        return (yield from self._exchange("all_to_all_single", outputs, inputs, group, async_op))

    def _exchange(
        self,
        call: str,
        outputs: Sequence[np.ndarray],
        inputs: Sequence[np.ndarray],
        group: ProcessGroup | None,
        async_op: bool,
    ) -> Blocking:
        """Send one part to each rank, and get one from each."""
        position = (group or self.world).members.index(self.rank)

        def store(values: list[Any]) -> None:
            for target, parts in zip(outputs, values, strict=True):
                target[...] = parts[position].reshape(target.shape)

        value = [part.copy() for part in inputs]
        signature = (str(value[0].dtype),)
        return (yield from self._collective(call, signature, _NO_EXTENT, value, store, group, async_op))

    def all_gather_object(self, object_list: list[Any], obj: object, group: ProcessGroup | None = None) -> Blocking:
        """Every rank gets an object of each."""

        def store(values: list[Any]) -> None:
            object_list[:] = values

        return (yield from self._collective("all_gather_object", (), _NO_EXTENT, obj, store, group, False))

    def broadcast_object_list(
        self, object_list: list[Any], src: int = 0, group: ProcessGroup | None = None
    ) -> Blocking:
        """Every rank gets one rank's objects."""
        root = (group or self.world).members.index(src)

        def store(values: list[Any]) -> None:
            object_list[:] = values[root]

        value = list(object_list)
        return (yield from self._collective("broadcast_object_list", (src,), _NO_EXTENT, value, store, group, False))

    def gather_object(
        self,
        obj: object,
        object_gather_list: list[object] | None = None,
        dst: int = 0,
        group: ProcessGroup | None = None,
    ) -> Blocking:
        """One rank gets an object of each.

        Args:
            obj: Of this rank.
            object_gather_list: On that rank a list with a place for each; None on others.
            dst: Global rank.
            group: None for all ranks.
        """
        root = self._find_root(dst, "dst", group)
        if self.rank == dst and object_gather_list is None:
            raise ValueError(f"gather_object: rank {dst} wants object_gather_list= with a place for each rank")

        def store(values: list[object]) -> None:
            if self.rank == dst and object_gather_list is not None:
                object_gather_list[:] = values

        return (yield from self._collective("gather_object", (dst,), _NO_EXTENT, obj, store, group, False, root))

    def scatter_object_list(
        self,
        scatter_object_output_list: list[object],
        scatter_object_input_list: list[object] | None = None,
        src: int = 0,
        group: ProcessGroup | None = None,
    ) -> Blocking:
        """Every rank gets one of the objects that one rank has.

        Args:
            scatter_object_output_list: Its first element becomes this rank's object.
            scatter_object_input_list: On that rank an object for each; None on others.
            src: Global rank.
            group: None for all ranks.
        """
        root, members = self._find_root(src, "src", group), (group or self.world).members
        if self.rank == src and len(scatter_object_input_list or ()) != len(members):
            raise ValueError(f"scatter_object_list: rank {src} gives an object for each of the {len(members)} ranks")

        def store(values: list[list[object]]) -> None:
            scatter_object_output_list[0] = values[root][members.index(self.rank)]

        value = list(scatter_object_input_list or ())
        return (
            yield from self._collective("scatter_object_list", (src,), _NO_EXTENT, value, store, group, False, root)
        )

    def monitored_barrier(
        self, group: ProcessGroup | None = None, timeout: object = None, wait_all_ranks: bool = False
    ) -> Blocking:
        """Wait for all members; here it does not give up.

        Args:
            group: None for all ranks.
            timeout: Not used.
            wait_all_ranks: Not used.
        """
        yield from self._collective("monitored_barrier", (), _NO_EXTENT, None, lambda values: None, group, False)

    # ---- groups and start

    def new_group(self, ranks: Iterable[int] | None = None, *_: object, **__: object) -> Blocking:
        """Make a group; every rank has to call it, members or not, in the same order.

        Args:
            ranks: Global ranks of its members; None for all.
        """
        members = self.world.members
        if ranks is not None:
            members = tuple(sorted(self._check_peer(rank, "rank") for rank in ranks))
        self._groups_made += 1
        group = ProcessGroup(("group", self._groups_made), members)
        if self.rank in members:
            post = PostedCall(self.rank, "new_group", self.engine.line_of_call(), is_collective=True)
            self.engine.post_group(post, group.name, members)
            yield from wait_for(post)
        return group

    def new_subgroups(self, group_size: int | None = None, *_: object, **__: object) -> Blocking:
        """Groups of ranks that follow one another.

        Args:
            group_size: Ranks of each, which divide all.

        Returns:
            The group of this rank, and all groups.
        """
        size = self.engine.size
        members = group_size or size
        if members < 1 or size % members:
            raise ValueError(f"The world size {size} must be divisible by group_size={members}")
        lists = [list(range(first, first + members)) for first in range(0, size, members)]
        return (yield from self.new_subgroups_by_enumeration(lists))

    def new_subgroups_by_enumeration(
        self, ranks_per_subgroup_list: Sequence[Sequence[int]], *_: object, **__: object
    ) -> Blocking:
        """Groups of the ranks of each list.

        Args:
            ranks_per_subgroup_list: Global ranks of each.

        Returns:
            The group of this rank, or None, and all groups.
        """
        groups, current = [], None
        for ranks in ranks_per_subgroup_list:
            group = yield from self.new_group(ranks)
            groups.append(group)
            if self.rank in group.members:
                current = group
        return current, groups

    def get_global_rank(self, group: ProcessGroup | None, group_rank: int) -> int:
        """The global rank of a member.

        Args:
            group: None for all ranks.
            group_rank: Its number in the group.
        """
        members = (group or self.world).members
        if not 0 <= group_rank < len(members):
            raise ValueError(f"Group rank {group_rank} is not part of a group of {len(members)} ranks")
        return members[group_rank]

    def get_group_rank(self, group: ProcessGroup, global_rank: int) -> int:
        """The number of a member in its group.

        Args:
            group: A group.
            global_rank: Global rank of the member.
        """
        if global_rank not in group.members:
            raise ValueError(f"Global rank {global_rank} is not part of the group of ranks {group.members}")
        return group.members.index(global_rank)

    def get_process_group_ranks(self, group: ProcessGroup | None = None) -> list[int]:
        """The global ranks of the members."""
        return list((group or self.world).members)

    def init_process_group(
        self, backend: object = None, init_method: object = None, *args: object, **options: object
    ) -> None:
        """Begin; all ranks are connected already.

        Args:
            backend: Not used: messages are those of gloo.
            init_method: Not used.
            args: `timeout`, `world_size` and `rank` without their names.
            options: `world_size` must be the number of ranks that run.
        """
        names = ("timeout", "world_size", "rank")
        arguments = dict(zip(names, args, strict=False)) | options
        size = arguments.get("world_size", -1)
        if size not in (None, -1, self.engine.size):
            raise ValueError(
                f"init_process_group: world_size={size}, but {self.engine.size} ranks run; run it with ranks={size}"
            )

    def get_rank(self, group: ProcessGroup | None = None) -> int:
        """This rank's number, in a group its position."""
        members = (group or self.world).members
        if self.rank not in members:
            return -1
        return members.index(self.rank)

    def get_world_size(self, group: ProcessGroup | None = None) -> int:
        """The number of members; -1 for a group that this rank is not in."""
        members = (group or self.world).members
        if self.rank not in members:
            return -1
        return len(members)


def _require_tensor(tensor: object, call: str) -> None:
    if not isinstance(tensor, np.ndarray):
        raise TypeError(f"{call} wants a tensor, not {type(tensor).__name__}")


def _measure(tensor: np.ndarray) -> tuple[int, str]:
    """What has to agree of the buffers of a collective: bytes and element type."""
    _require_tensor(tensor, "a collective")
    return tensor.nbytes, str(tensor.dtype)


def _check_scatter(tensor: np.ndarray, parts: Sequence[np.ndarray], members: int) -> None:
    if len(parts) != members:
        raise ValueError(f"scatter: the list has {len(parts)} tensors, and there are {members} ranks")
    for position, part in enumerate(parts):
        if part.shape != tensor.shape:
            raise RuntimeError(f"scatter: tensor {position} of the list is {part.shape}, the output {tensor.shape}")


def _cut(tensor: np.ndarray, sizes: Sequence[int] | None, members: int) -> list[np.ndarray]:
    if sizes is None:
        return np.split(tensor, members)
    return np.split(tensor, np.cumsum(sizes)[:-1])


def _reduce(values: Sequence[np.ndarray], op: str, members: int) -> np.ndarray:
    """The values of all ranks reduced in their order."""
    if op not in REDUCTIONS:
        raise ValueError(f"op={op!r} is no reduction; known are {', '.join(REDUCTIONS)}")
    total = np.array(values[0], copy=True)
    for value in values[1:]:
        total = REDUCTIONS[op](total, value)
    if op == "AVG":
        return total / members
    return total


def build_torch_modules(engine: Engine, rank: int, launchers: Mapping[str, object]) -> dict[str, ModuleType]:
    """The modules `torch`, `torch.distributed` and `torch.multiprocessing` of one rank.

    Args:
        engine: the ranks of the run.
        rank: this rank.
        launchers: the words of `torch.multiprocessing`.

    Returns:
        Modules by name.
    """
    torch = build_torch_module(seed=rank)
    functions = TorchDistributed(engine, rank)
    dist = KnownModule("torch.distributed")
    names = [name for name in dir(TorchDistributed) if not name.startswith("_")]
    vars(dist).update({name: getattr(functions, name) for name in names})
    vars(dist).update(
        P2POp=P2POp,
        Work=AsyncWork,
        ReduceOp=SimpleNamespace(**{name: name for name in REDUCTIONS}),
        group=SimpleNamespace(WORLD=functions.world),
        destroy_process_group=lambda *args: None,
        is_initialized=lambda: True,
        is_available=lambda: True,
        get_backend=lambda *group: "gloo",
        is_nccl_available=lambda: False,
        is_gloo_available=lambda: True,
        is_torchelastic_launched=lambda: False,
        ProcessGroup=ProcessGroup,
    )
    multiprocessing = KnownModule("torch.multiprocessing")
    vars(multiprocessing).update(launchers)
    torch.distributed, torch.multiprocessing = dist, multiprocessing  # type: ignore[attr-defined]
    return {
        "torch": torch,
        "torch.cuda": torch.cuda,
        "torch.distributed": dist,
        "torch.multiprocessing": multiprocessing,
    }
