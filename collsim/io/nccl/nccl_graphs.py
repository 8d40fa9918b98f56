"""NCCL's graph file (NCCL_GRAPH_DUMP_FILE, NCCL_GRAPH_FILE): the rings and trees that its search found, as one node
sees them.

Source: NVIDIA/nccl src/graph/search.cc (`<graphs>`, `<graph id pattern nchannels ...>`, `<channel>`, `<net dev>`, `<gpu
dev>`); src/init.cc has id 0 for the ring and 1 for the tree. Where the order within a node is a tree's, it is a chain
from its first GPU (src/graph/connect.cc, ncclTopoPreset). What happens between nodes is not in the file, so channels
that leave the node over a card are refused.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

from ...errors import Sentence
from ...files import read_xml, refuse
from ..file_formats import register_built_in
from .nccl_log import NcclCommunicator

_RING, _TREE = "0", "1"
_MAX_GPUS = 1024


def read_nccl_graphs(path: str | Path) -> NcclCommunicator:
    """The rings and trees of a graph file of one node.

    Args:
        path: Of the file.

    Returns:
        The job, with the GPUs of the node as ranks in the order of their numbers.

    Raises:
        FormatError: The file has no ring, its channels do not have the same GPUs, or they leave the node.
    """
    orders = _list_orders(path)
    rings = orders.get(_RING) or []
    if not rings:
        refuse(path, "", "no channel of a ring (graph id 0): NCCL's search found none")
    ranks = {dev: rank for rank, dev in enumerate(sorted(rings[0]))}
    jobs: dict[str, dict[int, tuple[int, ...]]] = {}
    for graph in (_RING, _TREE):
        for channel, order in enumerate(orders.get(graph) or []):
            if sorted(order) != sorted(ranks):
                where = Sentence("graph {graph}, channel {channel}", graph=graph, channel=channel)
                refuse(path, where, "its GPUs are not those of the first ring, each once")
            jobs.setdefault(graph, {})[channel] = tuple(ranks[dev] for dev in order)
    trees = {channel: _list_parents(order) for channel, order in jobs.get(_TREE, {}).items()}
    return NcclCommunicator(len(ranks), 1, "", jobs[_RING], trees)


def _list_orders(path: str | Path) -> dict[str, list[list[int]]]:
    """By the id of a graph, the GPUs of each of its channels in order."""
    orders: dict[str, list[list[int]]] = {}
    graph = ""
    for event, element, level in read_xml(path, depth=4):
        if event == "end":
            continue
        if level == 1 and element.tag != "graphs":
            refuse(path, "", "the outermost element is <{tag}>, expected <graphs>", tag=element.tag[:40])
        if element.tag == "graph":
            graph = element.get("id", "")[:20]
            orders.setdefault(graph, [])
        elif element.tag == "channel" and graph:
            orders[graph].append([])
        elif level == 4 and graph in (_RING, _TREE) and orders[graph]:
            where = Sentence("graph {graph}, channel {channel}", graph=graph, channel=len(orders[graph]) - 1)
            _add_member(path, where, element, orders[graph][-1])
    return orders


def _add_member(path: str | Path, where: Sentence, element: Element, order: list[int]) -> None:
    """Take in one <gpu> of a channel. Raises FormatError for a <net>, as the next node is not in the file."""
    if element.tag == "net":
        message = (
            "leaves the node over a card, and a graph file holds one node; give the log of NCCL_DEBUG=INFO "
            "NCCL_DEBUG_SUBSYS=INIT,GRAPH, which has all of them"
        )
        refuse(path, where, message)
    if element.tag == "gpu":
        device = _parse_device(element)
        if device < 0 or len(order) == _MAX_GPUS:
            refuse(path, where, "expected up to {most} <gpu dev=...> with hexadecimal numbers", most=_MAX_GPUS)
        order.append(device)


def _parse_device(gpu: Element) -> int:
    """The number of a GPU, which NCCL reads as hexadecimal; -1 for none."""
    try:
        return int(gpu.get("dev", "")[:18], 16)
    except ValueError:
        return -1


def _list_parents(order: tuple[int, ...]) -> tuple[int, ...]:
    """The parent of each rank in a chain from the first one; -1 for it."""
    parents = [-1] * len(order)
    for above, below in pairwise(order):
        parents[below] = above
    return tuple(parents)


register_built_in("nccl-graphs", read=read_nccl_graphs, looks=lambda head: "<graphs" in head)
