"""Names that a rank program does not use: they lead from an object into Python itself."""

from __future__ import annotations

from ...errors import CollsimError

INTERNAL_NAMES = frozenset(
    (
        *("__base__", "__bases__", "__builtins__", "__closure__", "__code__", "__getattribute__", "__globals__"),
        *("__import__", "__loader__", "__mro__", "__reduce__", "__reduce_ex__", "__spec__", "__subclasses__"),
        *("ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame", "mro", "tb_frame"),
    )
)


def require_plain_name(name: object, line: int = 0) -> None:
    """Refuse the name of an attribute that leads from an object into Python itself.

    The sandbox holds what a program may reach; such a name in a rank program is a mistake, or an attack.

    Args:
        name: of the attribute; anything but a text passes.
        line: of the program; 0 where it is not known.

    Raises:
        CollsimError: for such a name.
    """
    if not isinstance(name, str) or name not in INTERNAL_NAMES:
        return
    if line:
        message = "line {line}: {name} leads into Python itself, which no rank program needs; leave it out"
        raise CollsimError(message, line=line, name=name)
    raise CollsimError("{name} leads into Python itself, which no rank program needs; leave it out", name=name)
