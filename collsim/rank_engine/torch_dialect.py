"""`torch.distributed` for one rank of an engine, with the semantics of gloo.

A send waits for its receive at every size, tags match exactly, `dst` and `src` are global ranks also inside of a group,
and groups are named by a counter of each process, so a group that only its members make shifts the names of later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import GeneratorType, ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from ..package_data import TomlTable, read_toml
from .calls import poll, wait_for
from .data_parallel import DistributedDataParallel
from .engine import (
    ANY,
    Blocking,
    CollectivePost,
    Contributions,
    Engine,
    MessagePost,
    PostedCall,
    copy_bytes,
    describe_dtype,
    require_tag,
)
from .mpi_collectives import find_result, make_binder
from .stand_ins.mesh_groups import DeviceMesh, ProcessGroup
from .stand_ins.neural.data_loading import build_data_modules
from .stand_ins.neural.layers import build_network_modules
from .stand_ins.neural.optimizers import build_optimizer_modules
from .stand_ins.objects import copy_object
from .stand_ins.tensor_checks import cut_tensor, has_gaps, require_parts, require_tensor, require_types, view_memory
from .stand_ins.tensors import KnownModule, as_tensor
from .stand_ins.torch_functions import TensorFunctions, build_torch_module

Tensor: TypeAlias = np.ndarray
Group = ProcessGroup | None  # None for all ranks


class AsyncWork:
    """The handle of an asynchronous call."""

    def __init__(
        self, operation: PostedCall, finish: Callable[[], None] | None = None, tensors: Sequence[object] = ()
    ) -> None:
        """The handle of a call that was posted.

        Args:
            operation: What was posted.
            finish: Writes the result into the caller's buffers when it is complete; None for calls without one.
            tensors: These buffers.
        """
        self.operation = operation
        self._finish = finish
        self._tensors = list(tensors)

    def wait(self, timeout: object = None) -> Blocking:
        """Wait until it is complete; only then does the buffer hold the result.

        Args:
            timeout: Not used: a wait that never ends is reported as one.

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

    synchronize = wait

    def is_completed(self) -> Blocking:
        """Whether it is complete; asking lets other ranks run.

        Returns:
            Whether it is.
        """
        yield from poll()
        return self.operation.settle()

    is_success = is_completed

    def result(self) -> Blocking:
        """The tensors that a collective filled, once it is complete."""
        yield from self.wait()
        return self._tensors

    def get_future(self) -> WorkFuture:
        """What a collective will have filled."""
        return WorkFuture(self)


class WorkFuture:
    """What a collective will have filled, and what functions make of it."""

    def __init__(self, work: AsyncWork, functions: tuple[Callable[[WorkFuture], object], ...] = ()) -> None:
        """The result of a collective, or of functions of it.

        Args:
            work: The handle of the collective.
            functions: Called when somebody waits, one after another.
        """
        self._work, self._functions = work, functions

    def wait(self) -> Blocking:
        """Wait for it.

        Returns:
            The tensors, or what the last function returned.
        """
        if not self._functions:
            return (yield from self._work.result())
        value = self._functions[-1](WorkFuture(self._work, self._functions[:-1]))
        if isinstance(value, GeneratorType):  # as functions of a program are
            value = yield from value
        return value

    value = wait

    def done(self) -> Blocking:
        """Whether it is complete."""
        return (yield from self._work.is_completed())

    def then(self, callback: Callable[[WorkFuture], object]) -> WorkFuture:
        """A function of it.

        Args:
            callback: Takes this future.
        """
        return WorkFuture(self._work, (*self._functions, callback))


class MessageWork(AsyncWork):
    """The handle of a message, which gloo forgets with it."""

    def source_rank(self) -> int:
        """The sender of what was received."""
        assert isinstance(self.operation, MessagePost)
        return self.operation.source

    def result(self) -> Blocking:
        """Nothing, as with gloo."""
        raise RuntimeError("result() not implemented.")

    def get_future(self) -> WorkFuture:
        """Nothing, as with gloo."""
        raise RuntimeError("Work::getFuture not implemented.")

    def __init__(self, operation: MessagePost, engine: Engine) -> None:
        """The handle of a message that was posted.

        Args:
            operation: What was posted.
            engine: Notes where nobody keeps the handle.
        """
        super().__init__(operation)
        self._engine, self._step = engine, engine.step

    def __del__(self) -> None:
        """Tell the engine, unless its rank has waited."""
        if not self.operation.is_awaited:
            self._engine.note_dropped(self.operation, self._step)


class P2POp:
    """A send or a receive for `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., AsyncWork | None],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        """One operation of a batch; nothing is posted yet.

        Args:
            op: `dist.isend` or `dist.irecv`.
            tensor: What is sent or filled.
            peer: Global rank.
            group: None for all ranks.
            tag: Of the message.
            group_peer: In place of `peer`, the number in the group.
        """
        if getattr(op, "__name__", "") not in ("isend", "irecv"):
            raise ValueError("P2POp: op is dist.isend or dist.irecv")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer


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
        self._all = ProcessGroup("world", tuple(range(engine.size)), rank)
        self._world: ProcessGroup | None = self._all  # None after `destroy_process_group`
        self._group_names: list[Hashable] = []
        self._has_begun = False  # with `init_process_group`

    @property
    def world(self) -> ProcessGroup:
        """All ranks."""
        if self._world is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        return self._world

    # ---- point to point

    def isend(
        self, tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
    ) -> AsyncWork | None:
        """Post a send; None for a rank outside the group."""
        target = self._find_peer(dst, group_dst, group, "dst")
        return self._post("isend", tensor, target, group, tag)

    def irecv(
        self, tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
    ) -> AsyncWork | None:
        """Post a receive; None for a rank outside the group."""
        source = ANY  # torch's recv without a source takes a message from anybody
        if src is not None or group_src is not None:
            source = self._find_peer(src, group_src, group, "src")
        return self._post("irecv", tensor, source, group, tag)

    def _post(self, call: str, tensor: Tensor, peer: int, group: Group, tag: int) -> MessageWork | None:
        """Post a message to or from a global rank, or from any."""
        require_tensor(tensor, call)
        group = group or self.world
        # As in torch: ranks outside the group return at once, with a warning there.
        if self.rank not in group.members:
            return None
        if peer == self.rank:
            # gloo refuses this; a simulated success would hide the mistake.
            raise RuntimeError("gloo connects no rank with itself; copy the tensor with copy_")
        if not tensor.flags.c_contiguous:
            raise RuntimeError(f"{call}: the tensor has to be contiguous; send a copy: t.contiguous()")
        if require_tag(tag) < 0:
            raise RuntimeError("Tag must be nonnegative")
        peers = tuple(rank for rank in group.members if rank != self.rank) if peer == ANY else (peer,)
        post = MessagePost(self.rank, call, self.engine.line_of_call(), peers, tag=tag, communicator=group.name)
        post.buffer, post.nbytes, post.needs_handle = tensor, tensor.nbytes, True
        if call == "isend":
            post.source, post.target = self.rank, peer
            return MessageWork(self.engine.post_send(post), self.engine)
        post.source, post.target, post.is_any = peer, self.rank, peer == ANY
        return MessageWork(self.engine.post_receive(post), self.engine)

    def send(
        self, tensor: Tensor, dst: int | None = None, group: Group = None, tag: int = 0, group_dst: int | None = None
    ) -> Blocking:
        """Send, and wait until it was received."""
        if self._find_peer(dst, group_dst, group, "dst") == self.rank:
            raise ValueError(f"Invalid destination rank {self.rank}: a rank does not send to itself")
        work = self.isend(tensor, dst, group, tag, group_dst)
        if work is not None:
            work.operation.call = "send"
            yield from work.wait()

    def recv(
        self, tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
    ) -> Blocking:
        """Receive; returns the source, or -1 on a rank outside the group."""
        work = self.irecv(tensor, src, group, tag, group_src)
        if work is None:
            return -1
        work.operation.call = "recv"
        yield from work.wait()
        assert isinstance(work.operation, MessagePost)
        return work.operation.source

    def send_object_list(
        self,
        object_list: Sequence[object],
        dst: int | None = None,
        group: Group = None,
        device: object = None,
        group_dst: int | None = None,
        use_batch: bool = False,
    ) -> Blocking:
        """Send objects as torch does: the lengths of their pickles, then the pickles.

        Args:
            object_list: Anything that can be pickled.
            dst: Global rank.
            group: None for all ranks.
            device: Not used.
            group_dst: In place of `dst`, the number in the group.
            use_batch: Not used.
        """
        pickled = [copy_object(item) for item in object_list]
        sizes = as_tensor([nbytes for _, nbytes in pickled])
        yield from self.send(sizes, dst, group, group_dst=group_dst)
        target, group = self._find_peer(dst, group_dst, group, "dst"), group or self.world
        if self.rank not in group.members:
            return
        post = MessagePost(self.rank, "send_object_list", self.engine.line_of_call(), (target,))
        post.source, post.target, post.communicator = self.rank, target, (group.name, "objects")
        post.payload, post.nbytes = [item for item, _ in pickled], int(sizes.sum())
        yield from wait_for(self.engine.post_send(post))

    def recv_object_list(
        self,
        object_list: list[object],
        src: int | None = None,
        group: Group = None,
        device: object = None,
        group_src: int | None = None,
        use_batch: bool = False,
    ) -> Blocking:
        """Receive objects into a list of as many.

        Args:
            object_list: Filled.
            src: Global rank; None for any.
            group: None for all ranks.
            device: Not used.
            group_src: In place of `src`, the number in the group.
            use_batch: Not used.

        Returns:
            The source, or -1 on a rank outside the group.
        """
        sizes = as_tensor(np.zeros(len(object_list), np.int64))
        source = yield from self.recv(sizes, src, group, group_src=group_src)
        if source < 0:
            return source
        post = MessagePost(self.rank, "recv_object_list", self.engine.line_of_call(), (source,))
        post.source, post.target, post.nbytes = source, self.rank, -1
        post.communicator = ((group or self.world).name, "objects")
        yield from wait_for(self.engine.post_receive(post))
        assert isinstance(post.payload, list)
        object_list[:] = post.payload
        return source

    def batch_isend_irecv(self, p2p_op_list: Sequence[P2POp]) -> list[AsyncWork]:
        """Post several sends and receives, one after the other, as gloo does.

        Args:
            p2p_op_list: At least one.
        """
        if not p2p_op_list:
            raise IndexError("batch_isend_irecv: the list is empty")
        works = (post.op(post.tensor, post.peer, post.group, post.tag, post.group_peer) for post in p2p_op_list)
        return [work for work in works if work is not None]

    def _find_peer(self, rank: int | None, group_rank: int | None, group: Group, name: str) -> int:
        """The global rank that a call names, as such or by its number in a group."""
        if group_rank is not None:
            if rank is not None:
                raise ValueError("Can't specify both the global rank and its number in the group")
            return self.get_global_rank(group, group_rank)
        if rank is None:
            raise ValueError(f"Must specify {name} or group_{name}")
        if type(rank) is not int and (isinstance(rank, bool) or not isinstance(rank, int | np.integer)):
            raise TypeError(f"{name}={rank!r} is no whole number")
        members = (group or self.world).members
        if rank not in members:
            if not 0 <= rank < self.engine.size:
                raise ValueError(f"{name}={rank!r} is no rank from 0 to {self.engine.size - 1}")
            raise ValueError(f"{name}={rank}: global rank {rank} is not part of the group of ranks {members}")
        return int(rank)

    def _find_root(self, row: TomlTable, arguments: Mapping[str, Any], group: ProcessGroup) -> int:
        """The position in its group of the rank that alone sends or gets."""
        name = row["root"]
        root, group_root = arguments[name], arguments[f"group_{name}"]
        if root is None and group_root is None:
            root = row.get("default_root")
        return group.members.index(self._find_peer(root, group_root, group, name))

    # ---- collectives: `torch_dialect.toml` has what each of them does

    def _start_collective(self, call: str, row: TomlTable, arguments: dict[str, Any]) -> Blocking:
        """Post a collective; the result goes into this rank's buffers when it is waited for."""
        group, root = arguments["group"] or self.world, -1
        if "root" in row:
            root = self._find_root(row, arguments, group)
        # As in torch: ranks outside the group return at once, with a warning there.
        if self.rank not in group.members:
            return None
        position, size = group.members.index(self.rank), len(group.members)
        tensor = _check_arguments(call, row, arguments, size, is_root=root in (-1, position))
        op = arguments.get("op", "")
        post = CollectivePost(self.rank, call, self.engine.line_of_call(), communicator=group.name, root=root)
        post.signature = (call, root)
        if tensor is not None:
            post.unchecked = f"{op} {describe_dtype(tensor)}".strip()
            if row["result"] != "alltoall":  # whose parts may differ
                post.extent = tensor.nbytes
        for name in row.get("memory", ()):
            parts = arguments[name]
            if isinstance(parts, Tensor):
                parts = [parts]
            if any(map(has_gaps, parts or ())):
                self.engine.note_fault("gaps", post)
            if parts is not arguments[name]:
                arguments[name] = view_memory(parts[0])
            elif parts:
                arguments[name] = list(map(view_memory, parts))
        target: Any = arguments.get(row.get("fills", ""))
        sent: Any = tensor if "joined" in row else arguments.get(row.get("sends", ""))
        if "cuts" in row:
            target, sent = (
                cut_tensor(call, part, arguments[sizes], size)
                for part, sizes in zip((target, sent), row["cuts"], strict=True)
            )
        elif "parts" in row and isinstance(sent, Tensor) and row["parts"] == row["sends"]:
            sent = np.split(sent, size)
        post.value = _copy_sent(sent, is_object=tensor is None)
        self.engine.post_collective(post, group.members)

        def reduce(values: Sequence[Tensor]) -> Tensor:
            if isinstance(values, Contributions):  # the same sum for all ranks
                total: Tensor = values.compute_once(op, lambda: _reduce(values, op, size))
                return total
            return _reduce(values, op, size)

        def store() -> None:
            result = find_result(row.get("result", ""), post.result, position, root, reduce)
            if tensor is None and row.get("result") == "scatter":
                result = [result]  # an object, which may be None
            if result is not None:
                _store(target, result)

        work = AsyncWork(post, store, _list_filled(target))
        if arguments.get("async_op"):
            return work.get_future() if "joined" in row else work
        yield from work.wait()
        return None

    # ---- groups and start

    def new_group(
        self,
        ranks: Iterable[int] | None = None,
        timeout: object = None,
        backend: str | None = None,
        pg_options: object = None,
        use_local_synchronization: bool = False,
        group_desc: str | None = None,
        device_id: object = None,
        sort_ranks: bool = True,
    ) -> Blocking:
        """Make a group; every rank has to call it, members or not, in the same order.

        Args:
            ranks: Global ranks of its members; None for all.
            timeout: Not used: a call that never ends is reported as one.
            backend: Its name; messages are those of gloo in any case.
            pg_options: Not used.
            use_local_synchronization: Only the members call it; other ranks get None.
            group_desc: Not used.
            device_id: Not used.
            sort_ranks: Whether the members are numbered in the order of their global ranks.
        """
        _require_backend(backend)
        members = self.world.members
        if ranks is not None:
            members = tuple(self._find_peer(rank, None, None, "rank") for rank in ranks)
            if sort_ranks:
                members = tuple(sorted(members))
            if not members or len(set(members)) < len(members):
                raise ValueError(f"new_group: a group has at least one rank, and each once, not {list(members)}")
        if use_local_synchronization and self.rank not in members:
            return None
        # As in torch: a counter of the process, or the members themselves where only these call.
        name = ("local", members) if use_local_synchronization else ("group",)
        name = (*name, self._group_names.count(name))
        self._group_names.append(name[:-1])
        group = ProcessGroup(name, members, self.rank)
        if self.rank in members:
            post = PostedCall(self.rank, "new_group", self.engine.line_of_call(), is_collective=True)
            self.engine.post_group(post, group.name, members)
            yield from wait_for(post)
        return group

    def new_subgroups(
        self,
        group_size: int | None = None,
        group: Group = None,
        timeout: object = None,
        backend: str | None = None,
        pg_options: object = None,
        group_desc: str | None = None,
    ) -> Blocking:
        """Groups of ranks that follow one another.

        Args:
            group_size: Ranks of each, which divide all.
            group: Whose ranks they are; None for all.
            timeout: Not used.
            backend: As in `new_group`.
            pg_options: Not used.
            group_desc: Not used.

        Returns:
            The group of this rank, and all groups.
        """
        ranks = self.get_process_group_ranks(group)
        if group_size is None:
            raise ValueError("new_subgroups: pass group_size; its default is the number of GPUs, and there is none")
        if group_size < 1 or len(ranks) % group_size:
            raise ValueError(f"The world size {len(ranks)} must be divisible by group_size={group_size}")
        lists = [ranks[first : first + group_size] for first in range(0, len(ranks), group_size)]
        return (yield from self.new_subgroups_by_enumeration(lists, backend=backend))

    def new_subgroups_by_enumeration(
        self,
        ranks_per_subgroup_list: Sequence[Sequence[int]],
        timeout: object = None,
        backend: str | None = None,
        pg_options: object = None,
        group_desc: str | None = None,
    ) -> Blocking:
        """Groups of the ranks of each list.

        Args:
            ranks_per_subgroup_list: Global ranks of each; no rank is in two of them.
            timeout: Not used.
            backend: As in `new_group`.
            pg_options: Not used.
            group_desc: Not used.

        Returns:
            The group of this rank, or None, and all groups.
        """
        if not ranks_per_subgroup_list:
            raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
        groups: list[ProcessGroup] = []
        current = None
        for ranks in ranks_per_subgroup_list:
            group = yield from self.new_group(ranks, backend=backend)
            for other in groups:
                if twice := set(other.members) & set(group.members):
                    raise ValueError(f"Rank {min(twice)} has appeared in both subgroup {other.members} and {ranks}")
            groups.append(group)
            if self.rank in group.members:
                current = group
        return current, groups

    def init_device_mesh(
        self,
        device_type: str,
        mesh_shape: Sequence[int],
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: None = None,
    ) -> Blocking:
        """A mesh of all ranks; every rank has to call it.

        Args:
            device_type: Not used.
            mesh_shape: Ranks along each dimension.
            mesh_dim_names: Names of the dimensions.
            backend_override: Not used.
        """
        if int(np.prod(mesh_shape)) != self.engine.size:
            raise ValueError(f"a mesh of {tuple(mesh_shape)} needs as many ranks, and {self.engine.size} run")
        ranks = np.arange(self.engine.size).reshape(mesh_shape)
        return (yield from self.make_mesh(device_type, ranks, mesh_dim_names=mesh_dim_names))

    def make_mesh(
        self,
        device_type: str,
        mesh: object,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: None = None,
    ) -> Blocking:
        """`DeviceMesh`: a mesh of some ranks; every rank has to call it.

        Args:
            device_type: Not used.
            mesh: The ranks.
            mesh_dim_names: Names of the dimensions.
            backend_override: Not used.
        """
        ranks = np.array(mesh)
        if mesh_dim_names is not None and len(mesh_dim_names) != ranks.ndim:
            raise RuntimeError(f"a mesh of {ranks.ndim} dimensions has as many names, not {tuple(mesh_dim_names)}")
        groups = []
        for dim in range(ranks.ndim):
            lists = np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist()
            group, _ = yield from self.new_subgroups_by_enumeration(lists)
            if group is not None:
                groups.append(group)
        names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        return DeviceMesh(device_type, as_tensor(ranks), tuple(groups), names, self.rank)

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

    def get_process_group_ranks(self, group: Group) -> list[int]:
        """The global ranks of the members."""
        return list((group or self.world).members)

    def init_process_group(
        self,
        backend: str | None = None,
        init_method: str | None = None,
        timeout: object = None,
        world_size: int = -1,
        rank: int = -1,
        store: object = None,
        group_name: str = "",
        pg_options: object = None,
        device_id: object = None,
    ) -> None:
        """Begin; all ranks are connected already.

        Args:
            backend: Its name; messages are those of gloo in any case.
            init_method: Not used.
            timeout: Not used: a call that never ends is reported as one.
            world_size: The number of ranks that run; -1 or None where the program does not say it.
            rank: This rank; -1 or None likewise.
            store: Not used.
            group_name: Not used.
            pg_options: Not used.
            device_id: Not used.
        """
        _require_backend(backend)
        if world_size not in (None, -1, self.engine.size):
            text = f"init_process_group: world_size={world_size}, but {self.engine.size} ranks run"
            raise ValueError(f"{text}; run it with ranks={world_size}")
        if rank not in (None, -1, self.rank):
            raise ValueError(f"init_process_group: rank={rank}, but this is rank {self.rank}")
        if self._has_begun:
            raise ValueError("trying to initialize the default process group twice!")
        self._world, self._has_begun = self._all, True

    def destroy_process_group(self, group: Group = None) -> None:
        """End: without a group, later calls are refused."""
        if group is None or group is self._world:
            self._world, self._has_begun = None, False

    def is_initialized(self) -> bool:
        """Whether the ranks are connected: until `destroy_process_group`."""
        return self._world is not None

    def get_rank(self, group: Group = None) -> int:
        """This rank's number, in a group its position."""
        return (group or self.world).rank()

    def get_world_size(self, group: Group = None) -> int:
        """The number of members; -1 for a group that this rank is not in."""
        return (group or self.world).size()

    def get_node_local_rank(self, fallback_rank: int | None = None) -> int:
        """This rank's number on its node; all are on one.

        Args:
            fallback_rank: Not used: the variable `LOCAL_RANK` is set.
        """
        return self.rank


#: Backends of torch 2.13.
_BACKENDS = frozenset(("gloo", "mpi", "nccl", "ucc", "xccl", "fake"))


def _require_backend(backend: str | None) -> None:
    """Refuse a name that is no backend; `cpu:gloo,cuda:nccl` names one for each kind of device."""
    for name in (backend or "gloo").split(","):
        if name.rpartition(":")[2].lower() not in _BACKENDS:
            raise ValueError(f"backend={backend!r} is unknown; known are {', '.join(sorted(_BACKENDS))}")


def _check_arguments(
    call: str, row: TomlTable, arguments: Mapping[str, Any], size: int, *, is_root: bool
) -> Tensor | None:
    """Refuse what torch and gloo refuse before anything is sent.

    Args:
        call: The word of the library.
        row: Of the table.
        arguments: By name.
        size: The number of members.
        is_root: Whether this rank sends to all or receives from all, or each does.

    Returns:
        The tensor whose size and type have to agree, or one of that type; None for objects.
    """
    if "object" in call or not row.get("sends"):
        _check_objects(call, row, arguments, size, is_root=is_root)
        return None
    if "root" in row and "parts" in row:
        _check_list(call, row, arguments[row["parts"]], arguments, is_root=is_root)
    names = dict.fromkeys(row[key] for key in ("tensor", "parts", "sends", "fills") if key in row)
    require_types(call, [arguments[name] for name in names if arguments[name] is not None])
    tensor: Any = arguments[row["tensor"]]
    if call == "all_to_all":
        for name in names:
            require_parts(call, tensor[0], arguments[name], size)
        tensor = tensor[0]
    if "joined" in row:
        tensor = as_tensor(np.concatenate([np.asarray(part).reshape(-1) for part in tensor]))
    require_tensor(tensor, call)
    if "parts" in row and (is_root or "root" not in row):
        require_parts(call, tensor, arguments[row["parts"]], size)
    _check_reduction(call, arguments, tensor)
    checked: Tensor = tensor
    return checked


def _check_objects(call: str, row: TomlTable, arguments: Mapping[str, Any], size: int, *, is_root: bool) -> None:
    name = row.get("objects", "")
    if name and is_root and len(arguments[name] or ()) != size:
        raise ValueError(f"{call}: {name}= has {len(arguments[name] or ())} objects, and there are {size} ranks")
    if call == "gather_object":
        _check_list(call, row, arguments[name], arguments, is_root=is_root)


def _check_list(call: str, row: TomlTable, items: object, arguments: Mapping[str, Any], *, is_root: bool) -> None:
    """Refuse a list on a rank for which it is not, and none on the one for which it is."""
    if is_root and not items:
        raise ValueError(f"{call}: {row.get('parts') or row['objects']}= must be given on this rank")
    if not is_root and items:
        name, root = row.get("parts") or row["objects"], row["root"]
        number = next(n for n in (arguments[root], arguments[f"group_{root}"], row["default_root"]) if n is not None)
        raise ValueError(f"{call}: {name}= is for rank {number} alone")


def _check_reduction(call: str, arguments: Mapping[str, Any], tensor: Tensor) -> None:
    op = arguments.get("op", "SUM")
    if not isinstance(op, str) or op not in REDUCTIONS:
        raise TypeError(f"{call}: op={op!r} is no reduction; known are {', '.join(REDUCTIONS)}")
    if op in ("BAND", "BOR", "BXOR") and tensor.dtype.kind not in "iu":
        raise RuntimeError(f"Cannot use ReduceOp.{op} with non-integral dtype")
    if op == "AVG" and tensor.dtype.kind in "iu":
        raise RuntimeError(f"{call}: result type Float can't be cast to the desired output type {tensor.dtype.name}")


def _copy_sent(sent: object, *, is_object: bool) -> object:
    """What a rank puts in: a copy, as the program may change it while others read it."""
    if is_object:
        return copy_object(sent)[0]
    if isinstance(sent, list):
        return [part.copy() for part in sent]
    if isinstance(sent, Tensor):
        return sent.copy()
    return sent


def _store(target: Any, result: Any) -> None:
    """Put a result into a tensor, a list of tensors or a list of objects."""
    if isinstance(target, Tensor):
        if isinstance(result, list):
            result = np.concatenate([value.reshape(-1) for value in result])
        _fill(target, result)
    elif target and isinstance(target[0], Tensor):
        if isinstance(result, Tensor):
            result = np.split(result, np.cumsum([tensor.size for tensor in target])[:-1])
        for tensor, value in zip(target, result, strict=True):
            _fill(tensor, value)
    else:
        objects: Any = copy_object(result)[0]  # a copy of its own for each rank
        for position, item in enumerate(objects):
            target[position] = item


def _list_filled(target: Any) -> list[object]:
    """The tensors that a collective fills, as its handle has them."""
    if target is None:
        return []
    return list(target) if isinstance(target, list) else [target]


def _fill(tensor: Tensor, values: Tensor) -> None:
    """Put what came into a tensor, of which fewer elements fill the beginning, as with gloo."""
    if values.nbytes > tensor.nbytes:
        raise RuntimeError(f"message truncated: {values.nbytes} bytes came, the buffer has {tensor.nbytes}")
    if values.size == tensor.size:
        values = values.reshape(tensor.shape)
    copy_bytes(values, tensor)  # also where types differ, which gloo does not compare


def _make_collective(call: str, row: TomlTable) -> Callable[..., Blocking]:
    bind = make_binder(call, row["parameters"])

    def collective(self: TorchDistributed, *args: object, **kwargs: object) -> Blocking:
        return self._start_collective(call, row, bind(*args, **kwargs))

    collective.__name__ = call
    collective.__doc__ = f"`{call}({row['parameters']})` of torch.distributed."
    return collective


for _call, _row in read_toml(__file__, "torch_dialect.toml").items():
    setattr(TorchDistributed, _call, _make_collective(_call, _row))


def _reduce(values: Sequence[Tensor], op: str, members: int) -> Tensor:
    """The values of all ranks reduced in their order."""
    total = np.array(values[0], copy=True)
    for value in values[1:]:
        total = REDUCTIONS[op](total, value.reshape(total.shape))
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
    tensors = TensorFunctions(seed=rank)
    torch = build_torch_module(tensors)
    functions = TorchDistributed(engine, rank)
    dist, reductions = KnownModule("torch.distributed"), KnownModule("torch.distributed.ReduceOp")
    vars(reductions).update({name: name for name in REDUCTIONS})
    names = [name for name in dir(TorchDistributed) if not name.startswith("_")]
    vars(dist).update({name: getattr(functions, name) for name in names})
    vars(dist).update(
        P2POp=P2POp,
        Work=AsyncWork,
        ReduceOp=reductions,
        group=SimpleNamespace(WORLD=functions.world),
        is_available=lambda: True,
        get_backend=lambda group=None: "gloo",
        is_mpi_available=lambda: False,
        is_nccl_available=lambda: False,
        is_gloo_available=lambda: True,
        is_torchelastic_launched=lambda: False,
        ProcessGroup=ProcessGroup,
        DeviceMesh=functions.make_mesh,
    )
    mesh = KnownModule("torch.distributed.device_mesh")
    vars(mesh).update(init_device_mesh=functions.init_device_mesh, DeviceMesh=functions.make_mesh)
    vars(dist).update(device_mesh=mesh)
    multiprocessing = KnownModule("torch.multiprocessing")
    vars(multiprocessing).update(launchers)
    parallel = type("DistributedDataParallel", (DistributedDataParallel,), {"distributed": functions})
    modules = {
        **build_network_modules(tensors, {"DistributedDataParallel": parallel}),
        **build_optimizer_modules(),
        **build_data_modules(tensors, rank, engine.size),
        "torch.autograd": torch.autograd,
        "torch.cuda": torch.cuda,
        "torch.distributed": dist,
        "torch.distributed.device_mesh": mesh,
        "torch.multiprocessing": multiprocessing,
    }
    for name, module in modules.items():
        if name.count(".") == 1:  # a part of torch itself
            setattr(torch, name.removeprefix("torch."), module)
    return {"torch": torch, **modules}
