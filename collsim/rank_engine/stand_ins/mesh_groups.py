"""Groups of ranks as `torch.distributed` has them, and meshes of ranks that make them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .tensors import Tensor


@dataclass(frozen=True)
class ProcessGroup:
    """A process group, as one rank holds it.

    Attributes:
        name: The same for all members.
        members: Their global ranks.
        global_rank: That of the rank that holds it, which need not be a member.
    """

    name: Hashable
    members: tuple[int, ...]
    global_rank: int

    def size(self) -> int:
        """The number of members; -1 for a group that this rank is not in."""
        if self.global_rank not in self.members:
            return -1
        return len(self.members)

    def rank(self) -> int:
        """This rank's number in it; -1 where it is no member."""
        if self.global_rank not in self.members:
            return -1
        return self.members.index(self.global_rank)


@dataclass(frozen=True)
class DeviceMesh:
    """The ranks as points of a grid, with a group along each dimension, as one rank holds it.

    Attributes:
        device_type: Of the devices; not used.
        mesh: The ranks.
        groups: That of this rank along each dimension; empty for a rank that is not in the mesh.
        mesh_dim_names: Names of the dimensions, or None.
        global_rank: This rank.
    """

    device_type: str
    mesh: Tensor
    groups: tuple[ProcessGroup, ...]
    mesh_dim_names: tuple[str, ...] | None
    global_rank: int

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension."""
        return self.mesh.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, of all or along a dimension."""
        if mesh_dim is None:
            return self.mesh.numel()
        return self.shape[mesh_dim]

    def get_rank(self) -> int:
        """This rank's number among all."""
        return self.global_rank

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank is; None for one that is not in the mesh."""
        points = np.argwhere(np.asarray(self.mesh) == self.global_rank).tolist()
        return tuple(points[0]) if points else None

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this rank along a dimension.

        Args:
            mesh_dim: Its number or its name; None for that of a mesh of one dimension.

        Raises:
            RuntimeError: There are several dimensions, or this rank is not in the mesh.
        """
        if not self.groups:
            raise RuntimeError(f"rank {self.global_rank} is not in the mesh {self.mesh.tolist()}")
        return self.groups[self._find_dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this rank along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's number in a group.

        Args:
            mesh_dim: As in `get_group`.
        """
        return self.get_group(mesh_dim).rank()

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        """The part of the mesh along some dimensions that holds this rank."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        dims = [self._find_dim(name) for name in names]
        if dims != sorted(set(dims)):
            raise KeyError(f"mesh[{names}]: the names have to be in the order of {self.mesh_dim_names}")
        point = self.get_coordinate()
        if point is None:
            raise RuntimeError(f"rank {self.global_rank} is not in the mesh {self.mesh.tolist()}")
        part = self.mesh[tuple(slice(None) if dim in dims else point[dim] for dim in range(self.ndim))]
        return DeviceMesh(self.device_type, part, tuple(self.groups[dim] for dim in dims), names, self.global_rank)

    def _find_dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"the mesh has {self.ndim} dimensions; name one with mesh_dim=")
            return 0
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(f"{mesh_dim!r} is no dimension of the mesh; its names are {self.mesh_dim_names}")
            assert self.mesh_dim_names is not None
            return self.mesh_dim_names.index(mesh_dim)
        return mesh_dim
