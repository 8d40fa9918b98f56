"""A sweep written down: a YAML file with the arguments of `sweep`, and errors that name the line.

```yaml
collective: allreduce
algorithm:                       # all of the collective when left out
  - allreduce_ring
  - {name: allreduce_tree, chunks: [1, 8]}
topology:
  - switch(64)
  - {machine: dgx-a100, nodes: [1, 2, 4], p2p: [true, false], scaled: {nvlink: 2}}
nbytes: 1KiB:1GiB:4              # first:last:factor, one size, or a list
dtype: float32
engine: lockstep                 # or {name: event, sharing: fair}
order: [given, "random:7"]
```

Of training steps, with `model` in the place of the collective:

```yaml
model: [resnet50, bert-base]
parallel:                        # ddp when left out
  - {name: ddp, bucket: [1MiB, 25MiB]}
  - data_parallel
topology: [{machine: dgx-a100, nodes: [1, 2]}]
batch: [512, 1024]               # and all that training_step takes
prices: {nic: 2400, nvlink: 60000}   # adds what each machine costs more than the first one, and saves
```
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..collective import get_collective
from ..dtypes import find_dtype_name
from ..errors import CollsimError, FormatError, describe_unknown, require_word
from ..errors.arguments import check_arguments
from ..files import read_text
from ..registry import get_algorithm
from ..simulate import ENGINES
from ..topology import NETWORKS
from ..topology.files.yaml_document import build_value, compose
from ..topology.machines import machines
from ..units import size_range
from .nccl_library import NCCL
from .step_sweep import SEVERAL, list_models, list_splits
from .synthesized_algorithm import SYNTHESIZED

if TYPE_CHECKING:
    import yaml

#: Keys of a plan over collectives; `schema` makes a JSON Schema of both.
KEYS = ("collective", "algorithm", "topology", "nbytes", "dtype", "engine", "order", "prices")
#: Keys of a plan over training steps.
STEP_KEYS = ("model", "parallel", "topology", "compute", *SEVERAL, "prices")
#: Bytes of a plan's file.
_LARGEST = 1_000_000


@check_arguments
def read_plan(path: str | Path) -> dict[str, Any]:
    """Read the arguments for `sweep` from a YAML file.

    Args:
        path: Of the file.

    Returns:
        Keyword arguments of `sweep`.

    Raises:
        FormatError: With file, line, and what was expected.

    Examples:
        >>> from pathlib import Path
        >>> from collsim.sweep import read_plan
        >>> _ = Path("plan.yaml").write_text("collective: allreduce\\ntopology: [dgx-a100]\\nnbytes: [1MiB, 64MiB]\\n")
        >>> sorted(read_plan("plan.yaml"))
        ['collective', 'nbytes', 'topology']
    """
    import yaml

    name = Path(path).name
    node = compose(read_text(Path(path), _LARGEST), name, "YAML")
    if not isinstance(node, yaml.MappingNode):
        message = "{name}, line 1: a plan is a mapping with the keys {keys}"
        raise FormatError(message, name=name, keys=", ".join(KEYS))
    # Lines are found in the document, because plain values have lost them.
    lines = _find_lines(node, name)
    try:
        plan = build_value(node)
    except FormatError as error:
        raise FormatError("{name}, {error}", name=name, error=error) from None
    known: tuple[str, ...] = (*KEYS, "model")
    if "model" in plan:
        known = STEP_KEYS
    for key in plan:
        if key not in known:
            message = "{name}, line {line}: {unknown}"
            raise FormatError(
                message, name=name, line=lines.get(str(key), 1), unknown=describe_unknown("key", key, known)
            )
    if "topology" not in plan:
        raise FormatError("{name}: a plan needs a topology, for example 'topology: [switch(64)]'", name=name)
    arguments = {}
    nodes = {str(key.value): value for key, value in node.value}
    # Each argument is parsed by itself, so that the error names the line of its key.
    for key, value in plan.items():
        try:
            arguments[key] = _parse_argument(key, value)
        except CollsimError as error:
            raise FormatError("{name}, line {line}: {error}", name=name, line=lines[key], error=error) from error
        entries, entry_nodes = [value], [nodes[key]]
        if isinstance(value, list):
            entries, entry_nodes = value, nodes[key].value
        # Names are checked here with their own line; the sweep itself could only name the key.
        for entry, entry_node in zip(entries, entry_nodes, strict=True):
            try:
                _require_known(key, entry)
            except CollsimError as error:
                line = entry_node.start_mark.line + 1
                raise FormatError("{name}, line {line}: {error}", name=name, line=line, error=error) from error
    return arguments


def _find_lines(node: yaml.MappingNode, name: str) -> dict[str, int]:
    """The line of each key, from 1. Raises FormatError for a key that is there twice, of which YAML drops the first."""
    lines: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if lines.setdefault(str(key.value), line) != line:
            message = "{name}, line {line}: key {value!r} is there twice, first in line {first}"
            raise FormatError(message, name=name, line=line, value=key.value, first=lines[str(key.value)])
    return lines


def _require_known(key: str, entry: Any) -> None:
    """Raises CollsimError for a name that does not exist."""
    name = entry
    if isinstance(entry, dict):
        name = entry.get("name", "")
    if key == "collective":
        get_collective(name)
    elif key == "algorithm" and name not in (NCCL, SYNTHESIZED):
        get_algorithm(name)
    elif key == "model":
        list_models(entry)
    elif key == "parallel":
        list_splits(_parse_name(key, entry))
    elif key == "engine":
        require_word("engine", name, ENGINES)
    elif key == "dtype":
        find_dtype_name(name)
    elif key == "topology":
        _require_known_topology(entry)


def _require_known_topology(entry: object) -> None:
    """A machine or a network by name, alone or with its options."""
    if isinstance(entry, str) and entry not in machines() and (name := entry.partition("(")[0]) not in NETWORKS:
        raise CollsimError(describe_unknown("topology", name, [*machines(), *NETWORKS]))
    if isinstance(entry, dict) and isinstance(name := entry.get("machine", ""), str) and name:
        require_word("machine", name, machines())


def _parse_argument(key: str, value: object) -> object:
    if value is None:
        raise CollsimError("{key} is empty", key=key)
    entries = [value]
    if isinstance(value, list):
        entries = value
    if key == "prices":
        from ..purchases.part_prices import parse_prices  # brings the steps of training

        return parse_prices(value)
    if key == "nbytes":
        return [size for entry in entries for size in _parse_sizes(entry)]
    if key in ("algorithm", "engine", "parallel"):
        return [_parse_name(key, entry) for entry in entries]
    return value


def _parse_sizes(entry: object) -> list[Any]:
    """`1KiB:1GiB:4` as its sizes; a number as it is."""
    if isinstance(entry, str):
        return size_range(entry)
    return [entry]


def _parse_name(key: str, entry: object) -> object:
    if isinstance(entry, dict):
        return _split_options(entry)
    if not isinstance(entry, str):
        raise CollsimError("{entry!r} is not the name of an {key}", entry=entry, key=key)
    return entry


def _split_options(entry: dict[str, object]) -> tuple[object, dict[str, object]]:
    """The name, and the rest."""
    rest = dict(entry)
    if "name" not in rest:
        raise CollsimError("{entry!r} has no name; write {{name: ..., option: value}}", entry=entry)
    return rest.pop("name"), rest
