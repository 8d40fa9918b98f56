"""Objects on their way to another rank: copies, and how many bytes they take as pickles."""

from __future__ import annotations

import io
import pickle
import types
from collections.abc import Iterator

#: Modules that a program's own classes and functions seem to be of; nothing can be imported from there. What namedtuple
#: makes is of the module that calls it, which is the engine's.
_OWN_MODULES = ("__main__", "program", "collsim.rank_engine.calls")


class _Pickler(pickle.Pickler):
    """Pickles objects whose classes a program defines itself: these go by their names, as pickles have them."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.names: dict[str, object] = {}

    def persistent_id(self, obj: object) -> str | None:
        """The name of a class or function of the program; None for all else."""
        if not isinstance(obj, type | types.FunctionType):
            return None
        module = str(obj.__module__)
        if module not in _OWN_MODULES:
            return None
        name = f"__main__ {obj.__qualname__}"
        self.names[name] = obj
        return name


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, file: io.BytesIO, names: dict[str, object]) -> None:
        super().__init__(file)
        self._names = names

    def persistent_load(self, pid: str) -> object:
        return self._names[pid]


def copy_object(value: object) -> tuple[object, int]:
    """What another rank gets of an object.

    Args:
        value: Anything that can be pickled, also of a class of the program.

    Returns:
        A copy, and the bytes of its pickle.
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    nbytes = file.tell()
    file.seek(0)
    return _Unpickler(file, pickler.names).load(), nbytes


class Anything:
    """What stands for an object that nobody has made: whatever is computed with it is another one."""

    def __call__(self, *_: object, **__: object) -> Anything:
        return self

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):  # what Python asks of every object, as in copying it
            raise AttributeError(name)
        return self

    def __iter__(self) -> Iterator[Anything]:
        return iter((self, self))  # mostly a pair is put

    def __index__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __call__
    __floordiv__ = __mod__ = __pow__ = __neg__ = __matmul__ = __call__
