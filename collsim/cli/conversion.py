"""Words of the command line that need no check are taken as they are: typer loads pydantic to convert any, which takes
longer than a short run itself."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

#: What is as good as the word itself; anything else is for typer, which also says what is wrong with it.
_PLAIN = {str: str, Path: Path}


def unconverted(params: list[Any]) -> list[Any]:
    """The same parameters of typer, converting only words that need it; those of a typer without pydantic as they
    are."""
    return [_light(param) if hasattr(param, "type_descriptor") else param for param in params]


def _light(param: Any) -> Any:
    made = copy.copy(param)
    made.__class__ = _light_class(made.__class__)
    return made


@cache
def _light_class(kind: Any) -> Any:
    class Light(kind):  # type: ignore[misc]
        def process_value(self, ctx: Any, value: Any) -> Any:
            """The value of one parameter, after its callback."""
            several = self.multiple or self.nargs != 1
            if value is None or value == ():
                taken, done = (() if several else None), not self.required
            else:
                taken, done = (
                    (value, False)
                    if several or self.type_descriptor.is_ranged
                    else _taken(self.type_descriptor.annotation, value)
                )
            if not done:
                return super().process_value(ctx, value)
            return taken if self.callback is None else self.callback(ctx, self, taken)

    return Light


def _taken(kind: Any, value: Any) -> tuple[Any, bool]:
    """A value as its kind, and is that beyond doubt?"""
    if isinstance(value, str) and kind in _PLAIN:
        return _PLAIN[kind](value), True
    if isinstance(value, str) and kind is int and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value), True
    return value, isinstance(value, kind) if isinstance(kind, type) else False
