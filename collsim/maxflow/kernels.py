"""The loops of the maximum flow: numba compiles them where it is there, plain Python runs the same source elsewhere.

Not imported before the first flow: the compiler takes longer to load than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import loops

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compile_kernel(signature: str | None = None) -> Callable[[Kernel], Kernel]:
    """A kernel as machine code, kept on disk where some directory can be written; without numba the function itself.

    Args:
        signature: Types as numba writes them: the kernel is compiled when its module is imported, not inside somebody's
            first flow. None compiles when it is first called.
    """

    def make(function: Kernel) -> Kernel:
        try:
            import numba
        except ImportError:  # in a browser
            return function
        try:
            kernel: Any = numba.njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:  # no directory for the cache
            kernel = numba.njit(signature, nogil=True)(function)
        return kernel  # type: ignore[no-any-return]

    return make


def _compile_callee(function: Kernel) -> Kernel:
    """A function that kernels call, as machine code in theirs, and that stays plain Python for all others."""
    try:
        from numba.extending import register_jitable
    except ImportError:  # in a browser
        return function
    kernel: Kernel = register_jitable(function)
    return kernel


# numba notes these by the function itself, so that `loops.augment`, compiled below, may call them as they are.
_compile_callee(loops.measure)
_compile_callee(loops.push_path)
_compile_callee(loops.push)
augment = compile_kernel("i8(i8[::1], i8[::1], i8[::1], i8[::1], i8, i8, i8, i8[::1], i8[::1], i8[::1])")(loops.augment)
