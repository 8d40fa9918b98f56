"""The loops of the maximum flow: numba compiles them where it is there, plain Python runs the same source elsewhere.

Not imported before the first flow: the compiler takes longer to load than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import loops

try:
    # The package before its parts: a thread that begins with a part while another imports the package leaves both of
    # them with half of it.
    import numba
    from numba.extending import register_jitable

    COMPILED = True
except ImportError:  # in a browser
    COMPILED = False

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compile_kernel(signature: str | None = None) -> Callable[[Kernel], Kernel]:
    """A kernel as machine code, kept on disk where some directory can be written; without numba the function itself.

    Args:
        signature: Types as numba writes them: the kernel is compiled when its module is imported, not inside somebody's
            first flow. None compiles when it is first called.
    """

    def make(function: Kernel) -> Kernel:
        if not COMPILED:
            return function
        try:
            kernel: Any = numba.njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:  # no directory for the cache
            kernel = numba.njit(signature, nogil=True)(function)
        return kernel  # type: ignore[no-any-return]

    return make


# numba notes these by the function itself, so that `loops.augment`, compiled below, may call them as they are.
if COMPILED:
    for callee in (loops.measure, loops.push_path, loops.push):
        register_jitable(callee)
augment = compile_kernel("i8(i8[::1], i8[::1], i8[::1], i8[::1], i8, i8, i8, i8[::1], i8[::1], i8[::1])")(loops.augment)
