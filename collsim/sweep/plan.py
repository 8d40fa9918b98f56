"""A sweep written down: a YAML file with the arguments of `sweep`, and errors that name the line.

```yaml
collective: allreduce
algorithm:                       # all of the collective when left out
  - allreduce_ring
  - {name: allreduce_tree, chunks: [1, 8]}
topology:
  - switch(64)
  - {machine: dgx-a100, nodes: [1, 2, 4], p2p: [true, false], scaled: {infiniband: 2}}
nbytes: 1KiB:1GiB:4              # first:last:factor, one size, or a list
dtype: float32
engine: lockstep                 # or {name: event, sharing: fair}
order: [given, "random:7"]
```
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import CollsimError, FormatError, unknown
from ..units import size_range

_KEYS = ("collective", "algorithm", "topology", "nbytes", "dtype", "engine", "order")
_LARGEST = 1_000_000


def read_plan(path: str | Path) -> dict[str, Any]:
    """The arguments for `sweep` in a YAML file. Raises FormatError with file, line, and what was expected."""
    import yaml

    place = Path(path)
    try:
        if place.stat().st_size > _LARGEST:
            raise FormatError(f"{place}: a plan of more than {_LARGEST:,} bytes; is it the right file?")
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{place} cannot be read: {error}") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        plan = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise FormatError(f"{place}{line}: not YAML: {getattr(error, 'problem', error)}") from error
    except RecursionError as error:
        raise FormatError(f"{place}: nested too deep") from error
    if not isinstance(plan, dict):
        raise FormatError(f"{place}, line 1: a plan is a mapping with the keys {', '.join(_KEYS)}")
    lines = {key.value: key.start_mark.line + 1 for key, _ in getattr(node, "value", [])}
    for key in plan:
        if key not in _KEYS:
            raise FormatError(f"{place}, line {lines.get(str(key), 1)}: {unknown('key', key, _KEYS)}")
    if "topology" not in plan:
        raise FormatError(f"{place}: a plan needs a topology, for example 'topology: [switch(64)]'")
    arguments = {}
    for key, value in plan.items():
        try:
            arguments[key] = _argument(key, value)
        except CollsimError as error:
            raise FormatError(f"{place}, line {lines[key]}: {error}") from error
    return arguments


def _argument(key: str, value: Any) -> Any:
    if value is None:
        raise CollsimError(f"{key} is empty")
    if key == "nbytes":
        sizes = value if isinstance(value, list) else [value]
        return [size for entry in sizes for size in (size_range(entry) if isinstance(entry, str) else [entry])]
    if key in ("algorithm", "engine"):
        entries = value if isinstance(value, list) else [value]
        return [_named(key, entry) for entry in entries]
    return value


def _named(key: str, entry: Any) -> Any:
    if isinstance(entry, dict):
        rest = dict(entry)
        if "name" not in rest:
            raise CollsimError(f"{entry!r} has no name; write {{name: ..., option: value}}")
        return rest.pop("name"), rest
    if not isinstance(entry, str):
        raise CollsimError(f"{entry!r} is not the name of an {key}")
    return entry
