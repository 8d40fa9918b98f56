"""Which texts of a folder belong to which node: by subfolder, by the name of the file, or by the host in a log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from ..errors import CollsimError, Words, require_path
from ..files import FilePath, list_files
from ..io.nccl.nccl_log_facts import find_host
from .evidence_pieces import read_texts, require_texts
from .job import list_tested_hosts

#: Fewer nodes have no usual state from which one could differ.
FEWEST_NODES = 3
#: Texts of a fleet that are read.
_MAX_TEXTS = 20_000
#: Words of names of files that name no node: counted things, and tools, at which the name of a node ends.
_COUNTED = re.compile("rank|gpus?|pid|proc|local|step|run|iter|part|test|np|n|v|r|mlx|all|reduce|allreduce")
_TOOL = re.compile("[nr]ccl|log|out|err|ibstat(?:us)?|nvlink|lspci|topo|dmesg|df|nvidia|smi|perf|tests")


@dataclass(frozen=True)
class FleetTexts:
    """Texts by the node that they belong to.

    Attributes:
        nodes: texts of each node by the name of the file.
        shared: texts of several nodes, such as a table of nccl-tests over a pair of them.
        notes: what could not be read.
        name: of their folder.
    """

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    notes: list[Words] = field(default_factory=list)
    name: str = "texts"  # they come from the browser, where there are no paths


def is_fleet(paths: Sequence[Path]) -> bool:
    """Whether one folder is given in which at least three nodes have a subfolder each, or files named after them.

    Args:
        paths: files and folders that somebody gave.
    """
    if len(paths) != 1 or not paths[0].is_dir():
        return False
    folders = [folder for folder in _list_folders(paths[0]) if list_files([folder])]
    return len(folders) >= FEWEST_NODES or has_fleet_names([file.name for file in list_files(paths)])


def has_fleet_names(names: Sequence[str]) -> bool:
    """Whether names of texts have at least three nodes in them, as folders or as `name_nodes` finds them.

    Args:
        names: of files, with the folder of each where it has one.
    """
    return len(set(_name_owners(names).values()) - {""}) >= FEWEST_NODES


def _name_owners(names: Sequence[str]) -> dict[str, str]:
    """The node of each text by its folder, or by its name; "" where neither says it."""
    nodes = name_nodes([PurePath(name).name for name in names if PurePath(name).parent.name == ""])
    return {name: PurePath(name).parent.name or nodes.get(name, "") for name in names}


def read_fleet(source: FilePath | Mapping[str, str]) -> FleetTexts:
    """Read the texts of a fleet, node by node.

    Args:
        source: a folder with a subfolder for each node, or with files whose names have the node in them; logs of one
            node each may have any name. Or texts by such names.

    Returns:
        The texts.

    Raises:
        CollsimError: It is no folder, has too many files, or one of them cannot be read.
    """
    if isinstance(source, Mapping):
        _require_few(len(source), "")
        require_texts(source)
        owners = _name_owners(list(source))
        return _group_texts((owners[name], name, text) for name, text in source.items())
    folder = require_path(source)
    if not os.path.isdir(folder):  # of a text that no folder can have as a name, too
        raise CollsimError("{path}: a fleet is a folder with the files of its nodes", path=folder.name)
    files = list_files([folder])
    named = name_nodes([file.name for file in files])
    owned = [(named.get(file.name, ""), file) for file in files]
    owned += [(part.name, file) for part in _list_folders(folder) for file in list_files([part])]
    _require_few(len(owned), folder.name)
    notes: list[Words] = []
    texts = read_texts((file for _, file in owned), notes)
    fleet = _group_texts((node, name, text) for (node, _), (name, text) in zip(owned, texts, strict=True))
    return replace(fleet, notes=notes, name=folder.name)


def _require_few(count: int, name: str) -> None:
    if count > _MAX_TEXTS:
        raise CollsimError("{path}: {count} files; at most {most} are read", path=name, count=count, most=_MAX_TEXTS)


def _group_texts(texts: Iterable[tuple[str, str, str]]) -> FleetTexts:
    """Texts of each node; those that name several nodes or none are shared. Each comes as node, name and text."""
    fleet = FleetTexts()
    for node, name, text in texts:
        hosts = set(list_tested_hosts(text))
        if len(hosts) > 1:
            fleet.shared[name] = text
        elif node or hosts:
            fleet.nodes.setdefault(node or hosts.pop(), {})[name] = text
        elif host := find_host(text):
            fleet.nodes.setdefault(host, {})[name] = text
        else:
            fleet.shared[name] = text
    return fleet


def _list_folders(folder: Path) -> list[Path]:
    return sorted(part for part in folder.iterdir() if part.is_dir() and not part.name.startswith("."))


def name_nodes(names: Sequence[str]) -> dict[str, str]:
    """Find the part of the names of files that numbers nodes.

    Every run of words of a name with one number in it may be a node. The form of such a run (`node-#`) that most names
    have, with the fewest nodes, is taken: the rest of a name is then the tool, of which many nodes have a text.

    Args:
        names: of files of one folder.

    Returns:
        The node of each name that has one; nothing where fewer than half of the names have one of the same form.

    Examples:
        >>> name_nodes(["node-07.ibstat.txt", "node-07.nccl.log", "node-08.ibstat.txt", "topo.txt"])
        {'node-07.ibstat.txt': 'node-07', 'node-07.nccl.log': 'node-07', 'node-08.ibstat.txt': 'node-08'}
        >>> name_nodes(["rank0.log", "rank1.log"])
        {}
    """
    by_form: dict[str, dict[str, str]] = {}
    for name in names:
        for node in _list_runs(name):
            by_form.setdefault(re.sub(r"\d+", "#", node), {}).setdefault(name, node)
    if not by_form:
        return {}

    def rate(form: str) -> tuple[int, int, int]:
        nodes = by_form[form]
        return len(nodes), -len(set(nodes.values())), len(form)

    best = max(by_form, key=rate)
    if len(set(by_form[best].values())) < 2 or len(by_form[best]) < len(names) / 2:
        return {}
    return by_form[best]


def _list_runs(name: str) -> Iterator[str]:
    """Runs of words of a file's name that have exactly one number and may name a node."""
    words = re.split(r"([._-]+)", re.sub(r"\.[A-Za-z]{1,5}$", "", name)[:200])
    for start in range(0, len(words), 2):
        for end in range(start + 1, min(len(words), start + 9) + 1, 2):
            run = "".join(words[start:end])
            letters = re.findall(r"[a-z]+", run.lower())
            if len(re.findall(r"\d+", run)) != 1 or not letters:
                continue
            if _TOOL.fullmatch(letters[0]) or _TOOL.fullmatch(letters[-1]):
                continue
            if not all(_COUNTED.fullmatch(word) or _TOOL.fullmatch(word) for word in letters):
                yield run
