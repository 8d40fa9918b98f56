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

from ..package_data import TomlTable, read_toml
from .calls import poll, wait_for
from .engine import ANY, Blocking, CollectivePost, Contributions, Engine, MessagePost, PostedCall, require_tag
from .mpi_collectives import find_result, make_binder
from .stand_ins.tensors import KnownModule, build_torch_module


@dataclass(frozen=True)
class ProcessGroup:
    """A process group: its name, which all members share, and its global ranks."""

    name: Hashable
    members: tuple[int, ...]


Tensor: TypeAlias = np.ndarray
Group = ProcessGroup | None  # None for all ranks


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
        tensor: What is sent, or filled when the call is complete.
        src, dst: Global rank, also in a group; None as source of a receive takes a message of any rank.
        group_src, group_dst: In place of these, the number in the group.
        group: None for all ranks.
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

    # ---- collectives: `torch_dialect.toml` has what each of them does

    def _start_collective(self, call: str, row: TomlTable, arguments: Mapping[str, Any]) -> Blocking:
        """Post a collective; the result goes into this rank's buffers when it is waited for."""
        group, name, op = arguments["group"] or self.world, row.get("root", ""), arguments.get("op", "SUM")
        root, members = -1, group.members
        extent: Any = arguments.get(row.get("extent", ""))
        if "extent" in row:
            _require_tensor(extent, call)
        if name:
            root = self._find_root(arguments[name], name, group)
        # As in torch: ranks outside the group return at once, with a warning there.
        if self.rank not in members:
            return None
        position, size = members.index(self.rank), len(members)
        if "per_rank" in row:
            _check_list(call, row, arguments, size, is_root=root in (-1, position))
        target: Any = arguments.get(row.get("fills", ""))
        sent: Any = arguments.get(row.get("sends", ""))
        if "cuts" in row:
            target, sent = (
                _cut(tensor, arguments.get(sizes), size) if sizes else tensor
                for tensor, sizes in zip((target, sent), row["cuts"], strict=True)
            )
        post = CollectivePost(self.rank, call, self.engine.line_of_call(), communicator=group.name, root=root)
        post.signature = (call, *(arguments[key] for key in ("op", name) if key in arguments))
        post.value = _copy_sent(sent, is_object="object" in call)
        if "extent" in row:
            post.extent = extent.nbytes, str(extent.dtype)
        elif row.get("result") == "alltoall":
            post.signature = (call, str(sent[0].dtype))
        self.engine.post_collective(post, members)

        def reduce(values: Sequence[Tensor]) -> Tensor:
            if isinstance(values, Contributions):  # the same sum for all ranks
                total: Tensor = values.compute_once(op, lambda: _reduce(values, op, size))
                return total
            return _reduce(values, op, size)

        def store() -> None:
            result = find_result(row.get("result", ""), post.result, position, root, reduce)
            if isinstance(target, list) and row["result"] == "scatter":
                target[0] = result
            elif result is not None:
                _store(target, result)

        work = AsyncWork(post, store)
        if arguments.get("async_op"):
            return work
        yield from work.wait()
        return None

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


def _check_list(call: str, row: TomlTable, arguments: Mapping[str, Any], size: int, *, is_root: bool) -> None:
    """Refuse a list that has not an item for each rank, as torch does before anything is sent."""
    name = row["per_rank"]
    items = arguments[name] or ()
    if is_root and len(items) != size:
        things = "objects" if "object" in call else "tensors"
        raise ValueError(f"{call}: {name}= has {len(items)} {things}, and there are {size} ranks")
    if not is_root and items and "object" not in call:
        raise ValueError(f"{call}: {name}= is for rank {arguments[row['root']]} alone")
    if call == "scatter":
        tensor = arguments["tensor"]
        for position, part in enumerate(items):
            if part.shape != tensor.shape:
                raise RuntimeError(f"scatter: tensor {position} of the list is {part.shape}, the output {tensor.shape}")


def _copy_sent(sent: object, *, is_object: bool) -> object:
    """What a rank puts in: copies of tensors; objects as they are, since all ranks share one memory."""
    if isinstance(sent, list | tuple):
        return list(sent) if is_object else [part.copy() for part in sent]
    return sent.copy() if isinstance(sent, Tensor) and not is_object else sent


def _store(target: Any, result: Any) -> None:
    """Put a result into a tensor, a list of tensors or a list of objects."""
    if isinstance(target, Tensor):
        if isinstance(result, list):
            result = np.concatenate([value.reshape(-1) for value in result])
        if result.shape == target.shape:
            target[...] = result
        elif result.size == target.size:
            target[...] = result.reshape(target.shape)
        else:  # gloo: a smaller broadcast fills the beginning
            target.reshape(-1)[: result.size] = result.reshape(-1)
    elif target and isinstance(target[0], Tensor):
        for tensor, value in zip(target, result, strict=True):
            tensor[...] = value.reshape(tensor.shape)
    else:
        target[:] = result


def _make_collective(call: str, row: TomlTable) -> Callable[..., Blocking]:
    bind = make_binder(call, row["parameters"])

    def collective(self: TorchDistributed, *args: object, **kwargs: object) -> Blocking:
        return self._start_collective(call, row, bind(*args, **kwargs))

    collective.__name__ = call
    collective.__doc__ = f"`{call}({row['parameters']})` of torch.distributed."
    return collective


for _call, _row in read_toml(__file__, "torch_dialect.toml").items():
    setattr(TorchDistributed, _call, _make_collective(_call, _row))


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
