"""A YAML document from strangers, read within bounds: no aliases, few levels, errors of one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import FormatError, Sentence, Words, format_value

if TYPE_CHECKING:
    from yaml.nodes import Node

_MAX_DEPTH, _MAX_VALUES = 32, 500_000
#: libyaml from 0.2.6 on stops at 1,000 brackets itself, which it has read ahead before it gives the first event.
_LIBRARYS_DEPTH = "exceeded maximum nesting depth"
_LONGEST_NUMBER = 100
_NUMBERS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
_MERGE = "tag:yaml.org,2002:merge"


def compose(text: str, name: str, expected: Words) -> Node | None:
    """The document's tree, None if it is empty.

    Args:
        text: YAML.
        name: of the file, for errors.
        expected: what the text could have been, for the error where it is none of it.

    Raises:
        FormatError: With the line: for aliases, deep nesting, too many values, and what is no YAML.

    The walk over the events comes first: it stops at the first level too many, before the time that PyYAML needs, which
    grows with the square of the depth.
    """
    import yaml

    # libyaml's parser is many times faster, but not every wheel of PyYAML has it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = values = 0
    text = text.encode("utf-8", "replace").decode()  # libyaml takes no lone surrogates, and no class derived from str
    try:
        for event in yaml.parse(text, Loader=loader):
            where: Words = name
            if event.start_mark:
                where = _find_line(name, event.start_mark)
            # An alias can blow a small file up to any size.
            if isinstance(event, yaml.AliasEvent):
                message = "{where}: refused, aliases (*name) are not taken here; write the value out"
                raise FormatError(message, where=where)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            values += not isinstance(event, yaml.CollectionEndEvent)
            if values > _MAX_VALUES:
                raise FormatError("{where}: refused, more than {most:,} values", where=where, most=_MAX_VALUES)
            if depth > _MAX_DEPTH:
                raise _refuse_depth(where)
        return yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line: Words = ""
        if mark:
            line = Sentence(", line {line}", line=mark.line + 1)
        # libyaml has a limit of depth of its own, and says so in words of its own.
        if mark and _LIBRARYS_DEPTH in (getattr(error, "problem", None) or ""):
            raise _refuse_depth(_find_line(name, mark)) from None
        message = "{name}{line} is not {expected}: {error}"
        raise FormatError(message, name=name, line=line, expected=expected, error=str(error).splitlines()[0]) from None


def _find_line(name: str, mark: Any) -> Sentence:
    return Sentence("{name}, line {line}", name=name, line=mark.line + 1)


def _refuse_depth(where: Words) -> FormatError:
    return FormatError("{where}: refused, nested more than {most} deep", where=where, most=_MAX_DEPTH)


def build_value(node: Node) -> Any:
    """What a node of the tree stands for. Raises FormatError, whose values are `line` and `why`, for a tag that does
    not fit its text and for numbers of more than a hundred characters.

    PyYAML's constructors answer `!!bool x` with a KeyError and `!!timestamp x` with an AttributeError, and read
    `1:59:59:...` in the square of its length.

    Args:
        node: a scalar, sequence or mapping.
    """
    import yaml

    _require_short(node)
    try:
        return yaml.constructor.SafeConstructor().construct_document(node)  # type: ignore[no-untyped-call]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or node.start_mark
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _build_error(mark, problem) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise _build_error(
            node.start_mark, Sentence("a value that does not fit its tag ({error})", error=error)
        ) from None


def _build_error(mark: Any, reason: Words) -> FormatError:
    return FormatError("line {line}: {reason}", line=mark.line + 1, reason=reason)


def _require_short(node: Node) -> None:
    """Raises FormatError for numbers too long to be read, and for `<<`, which PyYAML merges without a limit."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        children: Sequence[object] = ()
        if isinstance(current.value, list):
            children = current.value
        waiting += [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
        if current.tag == _MERGE:
            raise _build_error(current.start_mark, Sentence("refused, merge keys (<<) are not taken here"))
        if isinstance(current.value, str) and current.tag in _NUMBERS and len(current.value) > _LONGEST_NUMBER:
            raise _build_error(
                current.start_mark, Sentence("{value} is too long for a number", value=format_value(current.value, 20))
            )
