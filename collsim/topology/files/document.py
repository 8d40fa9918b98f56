"""A YAML document from strangers, read within bounds: no aliases, few levels, errors of one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import FormatError

if TYPE_CHECKING:
    from yaml.nodes import Node

_MOST_DEPTH, _MOST_VALUES = 32, 500_000


def compose(text: str, name: str, expected: str) -> Node | None:
    """The document's tree, None if it is empty.

    Raises FormatError, with the line, for aliases, deep nesting, too many values, and what is no YAML.

    The walk over the events comes first: it stops at the first level too many, before the time that PyYAML needs, which
    grows with the square of the depth.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = values = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            where = f"{name}, line {event.start_mark.line + 1}" if event.start_mark else name
            if isinstance(event, yaml.AliasEvent):
                raise FormatError(f"{where}: refused, aliases (*name) are not taken here; write the value out")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            values += not isinstance(event, yaml.CollectionEndEvent)
            if values > _MOST_VALUES:
                raise FormatError(f"{where}: refused, more than {_MOST_VALUES:,} values")
            if depth > _MOST_DEPTH:
                raise FormatError(f"{where}: refused, nested more than {_MOST_DEPTH} deep")
        return yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise FormatError(f"{name}{line} is not {expected}: {str(error).splitlines()[0]}") from None
