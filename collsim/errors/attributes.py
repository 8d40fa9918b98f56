"""Attributes that an object does not have: the answer names the nearest, or the one that collsim has for the word."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NoReturn

from . import Sentence, describe_unknown


def answer_for_package(
    package: str, names: Collection[str], modules: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Build `__getattr__` and `__dir__` of a package: a name that it does not have is answered with the nearest one.

    A module is imported when somebody first uses one of its names. A package that imports its modules while it is
    itself imported meets a thread that imports such a module first: each waits for the other, and Python ends one of
    them with an error.

    Args:
        package: Its name, `__name__`.
        names: Its public names.
        modules: The modules, relative to the package, each with its names; a name that it does not have means the
            module.

    Returns:
        Both functions; the first raises AttributeError for a name that no module has.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.mesh2d(4, 4)
        Traceback (most recent call last):
        AttributeError: unknown name of cs.topology 'mesh2d'; did you mean 'mesh'?
    """
    module_of = {name: module for module, names_there in modules.items() for name in names_there}

    def get_late(name: str) -> object:
        if name in module_of:
            module = import_module(f".{module_of[name]}", package)
            value: object = getattr(module, name, module)
            setattr(sys.modules[package], name, value)
            return value
        if name.startswith("_"):  # Python and tools look whether there are such
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        what = Sentence("name of {package}", package=package.replace("collsim", "cs"))
        raise AttributeError(str(describe_unknown(what, name, {*names, *module_of})), name=name)

    return get_late, lambda: sorted(names)


class NamesNearAttributes:
    """Base of the results that people explore by name: a missing attribute is answered with the one that is meant.

    Examples:
        >>> import collsim as cs
        >>> cs.schedule("allreduce_ring", ranks=4).to_dataframe
        Traceback (most recent call last):
        AttributeError: unknown attribute of Schedule 'to_dataframe'; did you mean 'to_frame'?
    """

    #: Functions at the top of the package that take such an object first, and that people look for as its methods.
    _functions: ClassVar[tuple[str, ...]] = ()

    # A type checker must not see it: it would let every attribute pass.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self)
            if hasattr(kind, name):  # a property that raised an AttributeError of its own, which is the one to show
                return object.__getattribute__(self, name)
            if name.startswith("_"):  # Python and notebooks look whether there are such; nobody reads the answer
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            if name in self._functions:
                message = f"{kind.__name__} has no method {name!r}; call cs.{name}({kind.__name__.lower()}, ...)"
                raise AttributeError(message)
            known = [attribute for attribute in dir(self) if not attribute.startswith("_")]
            raise AttributeError(
                str(describe_unknown(Sentence("attribute of {name}", name=kind.__name__), name, known))
            )
