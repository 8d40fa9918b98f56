"""`torch.distributed` for one rank of an engine, with the semantics of gloo.

A send waits for its receive at every size, tags match exactly, `dst` and `src` are global ranks also inside of a group,
and groups are named by a counter of each process, so a group that only its members make shifts the names of later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from .calls import poll, wait_for
from .engine import ANY, Blocking, CollectivePost, Contributions, Engine, MessagePost, PostedCall, require_tag
from .stand_ins.tensors import KnownModule, build_torch_module


@dataclass(frozen=True)
class ProcessGroup:
    """A process group: its name, which all members share, and its global ranks."""

    name: Hashable
    members: tuple[int, ...]


Tensor: TypeAlias = np.ndarray
#: Where nothing of a collective's buffers has to agree.
_NO_TENSOR: Tensor = np.empty(0)
Group = ProcessGroup | None  # None for all ranks
Store = Callable[[Contributions], None]  # writes the result of a collective into the caller's buffers


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
        self, op: Callable[..., Blocking], tensor: Tensor, peer: int | None = None, group: Group = None, tag: int = 0
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


REDUCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
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
        self, tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
    ) -> AsyncWork:
        """Post a send."""
        _require_tensor(tensor, "isend")
        target = self._check_peer(self._find_global(dst, group_dst, group), "dst")
        if target == self.rank:
            # gloo refuses this; a simulated success would hide the mistake.
            raise RuntimeError("gloo connects no rank with itself; copy the tensor with copy_")
        post = self._build_message("isend", tensor, (target,), group, tag)
        post.source, post.target = self.rank, target
        return AsyncWork(self.engine.post_send(post))

    def irecv(
        self, tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
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
        post = self._build_message("irecv", tensor, peers, group, tag)
        post.source, post.target, post.is_any = source, self.rank, source == ANY
        return AsyncWork(self.engine.post_receive(post))

    def _build_message(self, call: str, tensor: Tensor, peers: tuple[int, ...], group: Group, tag: int) -> MessagePost:
        communicator, line = (group or self.world).name, self.engine.line_of_call()
        post = MessagePost(self.rank, call, line, peers, tag=require_tag(tag), communicator=communicator)
        post.buffer, post.nbytes = tensor, tensor.nbytes
        return post

    def send(
        self, tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
    ) -> Blocking:
        """Send, and wait until it was received."""
        dst = self._find_global(dst, group_dst, group)
        if dst == self.rank:
            raise ValueError(f"Invalid destination rank {dst}: a rank does not send to itself")
        work = self.isend(tensor, dst, group, tag)
        work.operation.call = "send"
        yield from work.wait()

    def recv(
        self, tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
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

    def _find_global(self, rank: int | None, group_rank: int | None, group: Group) -> int | None:
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

    def _find_root(self, rank: int | None, name: str, group: Group) -> int:
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
        store: Store,
        group: Group,
        async_op: bool,
        *agreed: Hashable,
        tensor: Tensor = _NO_TENSOR,
        value: object = None,
        root: int = -1,
    ) -> Blocking:
        """Post a collective; `store` gets the values of all when it is waited for.

        `agreed` is the same on all ranks, as are size and type of `tensor`. A rank puts in `value`, or a copy of the
        tensor.
        """
        _require_tensor(tensor, "a collective")
        group = group or self.world
        # As in torch: ranks outside the group return at once, with a warning there.
        if self.rank not in group.members:
            return None
        post = CollectivePost(self.rank, call, self.engine.line_of_call(), communicator=group.name, root=root)
        post.signature, post.value = (call, *agreed), value
        if tensor is not _NO_TENSOR:
            post.extent = tensor.nbytes, str(tensor.dtype)
            if value is None:
                post.value = tensor.copy()
        self.engine.post_collective(post, group.members)
        work = AsyncWork(post, lambda: store(post.result))
        if async_op:
            return work
        yield from work.wait()
        return None

    def barrier(self, group: Group = None, async_op: bool = False, **_: object) -> Blocking:
        """Wait for all members."""
        return self._collective("barrier", _store_nothing, group, async_op)

    def all_reduce(self, tensor: Tensor, op: str = "SUM", group: Group = None, async_op: bool = False) -> Blocking:
        """Every rank gets the reduction of all."""
        _require_tensor(tensor, "all_reduce")
        members = len((group or self.world).members)

        def store(values: Contributions) -> None:
            total = values.compute_once(op, lambda: _reduce(values, op, members))
            tensor[...] = total.reshape(tensor.shape)

        return self._collective("all_reduce", store, group, async_op, op, tensor=tensor)

    def reduce(
        self, tensor: Tensor, dst: int | None = None, op: str = "SUM", group: Group = None, async_op: bool = False
    ) -> Blocking:
        """One rank gets the reduction of all."""
        members, root = len((group or self.world).members), self._find_root(dst, "dst", group)

        def store(values: Contributions) -> None:
            if self.rank == dst:
                tensor[...] = _reduce(values, op, members).reshape(tensor.shape)

        return self._collective("reduce", store, group, async_op, op, dst, tensor=tensor, root=root)

    def broadcast(
        self, tensor: Tensor, src: int | None = None, group: Group = None, async_op: bool = False
    ) -> Blocking:
        """Every rank gets what one has."""
        root = self._find_root(src, "src", group)

        def store(values: Contributions) -> None:  # gloo: a smaller message fills the beginning
            tensor.reshape(-1)[: values[root].size] = values[root].reshape(-1)

        return self._collective("broadcast", store, group, async_op, src, tensor=tensor, root=root)

    def all_gather(
        self, tensor_list: Sequence[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
    ) -> Blocking:
        """Every rank gets what all have, a tensor each."""
        members = len((group or self.world).members)
        if len(tensor_list) != members:
            raise RuntimeError(f"all_gather: the list has {len(tensor_list)} tensors, and there are {members} ranks")

        def store(values: Contributions) -> None:
            _fill_tensors(tensor_list, values)

        return self._collective("all_gather", store, group, async_op, tensor=tensor)

    def all_gather_into_tensor(
        self, output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
    ) -> Blocking:
        """Every rank gets what all have, in one tensor."""

        def store(values: Contributions) -> None:
            output_tensor[...] = np.concatenate([v.reshape(-1) for v in values]).reshape(output_tensor.shape)

        return self._collective("all_gather_into_tensor", store, group, async_op, tensor=input_tensor)

    def gather(
        self,
        tensor: Tensor,
        gather_list: Sequence[Tensor] | None = None,
        dst: int | None = 0,
        group: Group = None,
        async_op: bool = False,
    ) -> Blocking:
        """One rank gets what all have, a tensor each."""
        root, members = self._find_root(dst, "dst", group), len((group or self.world).members)
        if self.rank == dst and (gather_list is None or len(gather_list) != members):
            # torch checks the list before it sends, so the error is at the call.
            raise ValueError(f"gather: rank {dst} wants gather_list= with a tensor for each of the {members} ranks")
        if self.rank != dst and gather_list:
            raise ValueError(f"gather: gather_list= is for rank {dst} alone")

        def store(values: Contributions) -> None:
            if gather_list:
                _fill_tensors(gather_list, values)

        return self._collective("gather", store, group, async_op, dst, tensor=tensor, root=root)

    def scatter(
        self,
        tensor: Tensor,
        scatter_list: Sequence[Tensor] | None = None,
        src: int | None = 0,
        group: Group = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one of the tensors that one rank has."""
        members, root = (group or self.world).members, self._find_root(src, "src", group)
        position = members.index(self.rank)
        if self.rank == src:
            _check_scatter(tensor, scatter_list or (), len(members))
        elif scatter_list:
            raise ValueError(f"scatter: scatter_list= is for rank {src} alone")

        def store(values: Contributions) -> None:
            tensor[...] = values[root][position]

        parts = [part.copy() for part in scatter_list or ()]
        return self._collective("scatter", store, group, async_op, src, tensor=tensor, value=parts, root=root)

    def reduce_scatter(
        self,
        output: Tensor,
        input_list: Sequence[Tensor],
        op: str = "SUM",
        group: Group = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one part of the reduction of all; a tensor for each part."""
        return self._scatter_sum("reduce_scatter", output, input_list, op, group, async_op)

    def reduce_scatter_tensor(
        self, output: Tensor, input: Tensor, op: str = "SUM", group: Group = None, async_op: bool = False
    ) -> Blocking:
        """Every rank gets one part of the reduction of all."""
        parts = np.split(input.reshape(-1), len((group or self.world).members))
        return self._scatter_sum("reduce_scatter_tensor", output, parts, op, group, async_op)

    def _scatter_sum(
        self, call: str, output: Tensor, parts: Sequence[Tensor], op: str, group: Group, async_op: bool
    ) -> Blocking:
        """Reduce part by part, and give each rank its own."""
        members = (group or self.world).members
        position = members.index(self.rank)

        def store(values: Contributions) -> None:
            output[...] = _reduce([value[position] for value in values], op, len(members)).reshape(output.shape)

        value = [part.copy() for part in parts]
        return self._collective(call, store, group, async_op, op, tensor=output, value=value)

    def all_to_all(
        self,
        output_tensor_list: Sequence[Tensor],
        input_tensor_list: Sequence[Tensor],
        group: Group = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one tensor from each."""
        return self._exchange("all_to_all", output_tensor_list, input_tensor_list, group, async_op)

    def all_to_all_single(
        self,
        output: Tensor,
        input: Tensor,
        output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None,
        group: Group = None,
        async_op: bool = False,
    ) -> Blocking:
        """Every rank gets one part of each rank's tensor."""
        members = len((group or self.world).members)
        outputs, inputs = _cut(output, output_split_sizes, members), _cut(input, input_split_sizes, members)
        return self._exchange("all_to_all_single", outputs, inputs, group, async_op)

    def _exchange(
        self, call: str, outputs: Sequence[Tensor], inputs: Sequence[Tensor], group: Group, async_op: bool
    ) -> Blocking:
        """Send one part to each rank, and get one from each."""
        position = (group or self.world).members.index(self.rank)

        def store(values: Contributions) -> None:
            for target, parts in zip(outputs, values, strict=True):
                target[...] = parts[position].reshape(target.shape)

        value = [part.copy() for part in inputs]
        return self._collective(call, store, group, async_op, str(value[0].dtype), value=value)

    def all_gather_object(self, object_list: list[Any], obj: object, group: Group = None) -> Blocking:
        """Every rank gets an object of each."""

        def store(values: Contributions) -> None:
            object_list[:] = values

        return self._collective("all_gather_object", store, group, False, value=obj)

    def broadcast_object_list(self, object_list: list[Any], src: int = 0, group: Group = None) -> Blocking:
        """Every rank gets one rank's objects."""
        root = (group or self.world).members.index(src)

        def store(values: Contributions) -> None:
            object_list[:] = values[root]

        return self._collective("broadcast_object_list", store, group, False, src, value=list(object_list))

    def gather_object(
        self, obj: object, object_gather_list: list[object] | None = None, dst: int = 0, group: Group = None
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

        def store(values: Contributions) -> None:
            if self.rank == dst and object_gather_list is not None:
                object_gather_list[:] = values

        return self._collective("gather_object", store, group, False, dst, value=obj, root=root)

    def scatter_object_list(
        self,
        scatter_object_output_list: list[object],
        scatter_object_input_list: list[object] | None = None,
        src: int = 0,
        group: Group = None,
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

        def store(values: Contributions) -> None:
            scatter_object_output_list[0] = values[root][members.index(self.rank)]

        value = list(scatter_object_input_list or ())
        return self._collective("scatter_object_list", store, group, False, src, value=value, root=root)

    def monitored_barrier(self, group: Group = None, timeout: object = None, wait_all_ranks: bool = False) -> Blocking:
        """Wait for all members; here it does not give up.

        Args:
            group: None for all ranks.
            timeout: Not used.
            wait_all_ranks: Not used.
        """
        return self._collective("monitored_barrier", _store_nothing, group, False)

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

    def get_global_rank(self, group: Group, group_rank: int) -> int:
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

    def get_process_group_ranks(self, group: Group = None) -> list[int]:
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

    def get_rank(self, group: Group = None) -> int:
        """This rank's number, in a group its position."""
        members = (group or self.world).members
        if self.rank not in members:
            return -1
        return members.index(self.rank)

    def get_world_size(self, group: Group = None) -> int:
        """The number of members; -1 for a group that this rank is not in."""
        members = (group or self.world).members
        if self.rank not in members:
            return -1
        return len(members)


def _require_tensor(tensor: object, call: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{call} wants a tensor, not {type(tensor).__name__}")


def _store_nothing(values: Contributions) -> None:
    """What a barrier does with the values of all."""


def _fill_tensors(tensors: Sequence[Tensor], values: Contributions) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor[...] = value


def _check_scatter(tensor: Tensor, parts: Sequence[Tensor], members: int) -> None:
    if len(parts) != members:
        raise ValueError(f"scatter: the list has {len(parts)} tensors, and there are {members} ranks")
    for position, part in enumerate(parts):
        if part.shape != tensor.shape:
            raise RuntimeError(f"scatter: tensor {position} of the list is {part.shape}, the output {tensor.shape}")


def _cut(tensor: Tensor, sizes: Sequence[int] | None, members: int) -> list[Tensor]:
    if sizes is None:
        return np.split(tensor, members)
    return np.split(tensor, np.cumsum(sizes)[:-1])


def _reduce(values: Sequence[Tensor], op: str, members: int) -> Tensor:
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
