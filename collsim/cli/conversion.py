"""Words of the command line that need no check are taken as they are: typer loads pydantic to convert any, which takes
longer than a short run itself."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

#: What is as good as the word itself; anything else is for typer, which also says what is wrong with it.
_PLAIN = {str: str, Path: Path}


def lighten_parameters(params: list[Any]) -> list[Any]:
    """The same parameters of typer, converting only words that need it; those of a typer without pydantic as they
    are.

    Args:
        params: Of click, as typer makes them.
    """
    return [_lighten(param) for param in params]


def _lighten(param: Any) -> Any:
    if not hasattr(param, "type_descriptor"):
        return param
    light = copy.copy(param)
    light.__class__ = _build_light_class(light.__class__)
    return light


@cache
def _build_light_class(kind: Any) -> Any:
    class Light(kind):  # type: ignore[misc]
        def process_value(self, ctx: Any, value: Any) -> Any:
            """The value of one parameter, after its callback."""
            takes_several = self.multiple or self.nargs != 1
            converted, is_done = None, False
            if value is None or value == ():
                is_done = not self.required
                if takes_several:
                    converted = ()
            elif not takes_several and not self.type_descriptor.is_ranged:
                converted, is_done = _convert_plain_word(self.type_descriptor.annotation, value)
            if not is_done:
                return super().process_value(ctx, value)
            if self.callback is not None:
                return self.callback(ctx, self, converted)
            return converted

    return Light


def _convert_plain_word(kind: Any, value: Any) -> tuple[Any, bool]:
    """A value as its kind, and is that beyond doubt?"""
    if isinstance(value, str) and kind in _PLAIN:
        return _PLAIN[kind](value), True
    if isinstance(value, str) and kind is int and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value), True
    return value, isinstance(kind, type) and isinstance(value, kind)
