"""`nvidia-smi topo -m` (and `-mp`), as people paste it: tabs or spaces or none, underlined headers, table bars,
legends, legacy labels (SOC, PSB).

The matrix gives path types, not bandwidths nor the PCIe tree. The tree is put together from them: PIX pairs share a
switch, PXB pairs a switch above it, PHB and NODE pairs a socket, and so do rows of one CPU affinity. Rates follow from
the GPU, which is guessed from the number of NVLinks unless `gpu=` says it. Every guess is a note.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import FormatError, format_value
from ..cables import GA102_SM, build_bridge, build_nvlink, build_pcie, find_nic
from ..machine_builder import Machine, MachineBuilder
from ..network import Cable, Topology
from ..parts.gpus import GPUS, UNKNOWN, find_gpu_name, label_gpu
from ..parts.sockets import build_socket_cable, find_processor
from .boards import add_nvlinks, find_board, parse_nvlink
from .guesses import Guesses, MatrixHints, guess_parts
from .topology_assembly import finish, usual_memory

_ANSI = re.compile(r"\x1b?\[[0-9;]*[A-Za-z]")
_WORDS = r"NV\d{1,2}|PIX|PXB|PHB|PSB|NODE|SYS|SOC"
_CELL = re.compile(rf"X|{_WORDS}|N/A|-")
_RUN_TOGETHER = re.compile(rf"(?:{_WORDS}){{2,}}")  # a terminal's last column and the first of the next line
#: Headings of the columns behind those of the devices, also where a narrow screen has cut them.
_TAIL = re.compile(r"\b(CPU(?:[\s_-]*Aff\w*)?|NUMA[\s_-]*Affinity|GPU[\s_-]*NUMA[\s_-]*ID)\b", re.IGNORECASE)
_GPU = re.compile(r"GPU\d+")
_OLD = {"SOC": "SYS", "PSB": "PIX"}  # drivers before 384, and the switch on a board of two GPUs
_COLUMN = re.compile(r"[A-Za-z][A-Za-z_.:-]*\d[\w.:-]*")  # GPU0, NIC3, mlx5_0, mlx5_bond_0, ibp26s0 ...
_GLUED = re.compile(r"(?<=\d)(?=GPU\d|NIC\d|mlx\d|CPU[\s_-]*Affinity)")  # tabs that a copy has eaten
_P2P_STATUS = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"}  # the cells of nvidia-smi topo -p2p
_BOARDS_ONLY = {"H800", "H200", "H20", "B200", "B300"}  # sold on boards with NVLink, few as cards
_MAX_LINKS = 18  # NVLinks of one GPU, any generation


@dataclass
class _Matrix:
    """What the text says: columns, a word per pair of rows, and the affinity of rows."""

    names: list[str]
    word: dict[tuple[str, str], str] = field(default_factory=dict)
    line: dict[str, int] = field(default_factory=dict)
    affinity: dict[str, str] = field(default_factory=dict)
    legend: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    old: bool = False  # SOC: a driver from before V100

    @property
    def gpus(self) -> list[str]:
        return [n for n in self.names if _GPU.fullmatch(n)]

    @property
    def cards(self) -> list[str]:
        return [n for n in self.names if not _GPU.fullmatch(n)]

    def between(self, a: str, b: str) -> str:
        return self.word.get((a, b)) or self.word.get((b, a)) or "N/A"


def matches_format(text: str) -> bool:
    """Does the text have a row of a GPU with an X in it?"""
    return any(re.match(r"GPU\d+\s.*\bX\b", _strip_decoration(line)) for line in text.splitlines())


def _strip_decoration(line: str) -> str:
    """A line without escapes, quotes of e-mail, comment stars and the bars of a table."""
    return re.sub(r"^\s*(?:[>*#]\s+)*", "", _ANSI.sub("", line)).replace("|", " ").replace("\ufeff", "").strip()


def read_topo_matrix(text: str, name: str, options: dict[str, Any]) -> Topology:
    """The topology of the machine that the text came from. Options: gpu, pcie, cpu, and those of `machine`.

    Args:
        text: what nvidia-smi printed.
        name: of the file, for errors and notes.
        options: `gpu`, `pcie`, `cpu`, `nvlink` and the keywords of `machine`.
    """
    matrix = _parse_matrix(text, name)
    taken = guess_parts(_collect_hints(matrix), options)
    rest = {k: v for k, v in options.items() if k not in ("gpu", "pcie", "cpu")}
    machine, notes = _build_machine(matrix, name, taken)
    machine, hidden = _complete(machine, text, matrix, options, name)
    notes += hidden
    if options.get("gpu") is not None:
        machine = replace(machine, gpu=label_gpu(options["gpu"]))
    default_nic = None
    if matrix.cards:
        default_nic = find_nic(taken.nic)
    return finish(machine, [*matrix.notes, *notes], name, rest, default_nic, taken.assumptions)


def _complete(
    machine: Machine, text: str, matrix: _Matrix, options: dict[str, Any], name: str
) -> tuple[Machine, list[str]]:
    """The machine with the NVLinks that `topo -mp` hides, and a note.

    Raises:
        FormatError: Where they are hidden and nothing says which they are.
    """
    word, gpu = parse_nvlink(options.get("nvlink")), ""
    if options.get("gpu") is not None:
        gpu = find_gpu_name(options["gpu"])
    # Without a hint in the text hidden links are only a guess, so nothing is added silently.
    is_only_guessed = "topo -mp" not in text and word != "board"
    is_hidden = gpu in _BOARDS_ONLY or not is_only_guessed
    has_links = any(cable.kind == "nvlink" for *_, cable in machine.connections)
    if word == "none" or has_links or not is_hidden or (gpu and not GPUS[gpu].links):
        return machine, []
    board = None
    if gpu:
        board = find_board(gpu, len(matrix.gpus))
    if board is None and is_only_guessed:
        return machine, []
    if board is None:
        raise FormatError(
            "{name}: nvidia-smi topo -mp hides NVLink; paste what topo -m prints, say gpu='H100' for the NVLinks of "
            "its usual board, or nvlink='none' for PCIe alone",
            name=name,
        )
    note = f"the text has no NVLink, as topo -mp hides it: NVLinks as in {board.label}; nvlink='none' leaves them out"
    return add_nvlinks(machine, board), [note]


# ---- text to matrix


def _parse_matrix(text: str, name: str) -> _Matrix:
    lines = [_strip_decoration(line) for line in text.splitlines()]
    head = next((i for i, line in enumerate(lines) if _is_header(line)), None)
    if head is None:
        message = "{name}: no header line with GPU0, GPU1 ...; paste all of what nvidia-smi topo -m prints"
        raise FormatError(message, name=name)
    names = _split_columns(lines[head])
    double = [n for n, count in Counter(names).items() if count > 1]
    if double:
        message = "{name}, line {line}: column {column} is there twice"
        raise FormatError(message, name=name, line=head + 1, column=double[0])
    matrix = _Matrix(names)
    block, strange = "before", []
    for i, line in enumerate(lines):
        if i == head:
            block = "rows"
        elif i > head and _is_header(line):
            matrix.notes.append(f"line {i + 1}: a second matrix begins here; it is left out, with what follows it")
            break
        elif line and not re.fullmatch(r"```\w*|[-:+= ]+", line):
            # Shell prompts and rules of a table around the matrix are no rows.
            block, known = _read_line(matrix, line, i + 1, name, block)
            strange += [] if known else [i]
    matrix.notes += _note_unknown_lines(lines, strange)
    missing = [n for n in matrix.gpus if n not in matrix.line]
    if missing:
        raise FormatError("{name}: the header has {missing}, but there is no row for it", name=name, missing=missing[0])
    matrix.notes += [
        f"the header has {n}, but there is no row for it; was the text cut?" for n in names if n not in matrix.line
    ]
    _note_asymmetry(matrix)
    return matrix


def _split_columns(line: str) -> list[str]:
    tail = _TAIL.search(line := _GLUED.sub(" ", line))
    return line[: tail.start() if tail else None].split()


def _note_unknown_lines(lines: list[str], numbers: list[int]) -> list[str]:
    """A note for each stretch of lines."""
    notes, first = [], 0
    for k, i in enumerate(numbers):
        if k + 1 < len(numbers) and not any(lines[i + 1 : numbers[k + 1]]):
            continue
        start, count = numbers[first], k - first + 1
        if count == 1:
            where = f"line {start + 1} was"
        else:
            where = f"lines {start + 1} to {i + 1} were"
        notes.append(f"{where} not understood: {lines[start][:80]!r}{' ...' if count > 1 else ''}")
        first = k + 1
    return notes


def _is_header(line: str) -> bool:
    words = _split_columns(line)
    return any(_GPU.fullmatch(w) for w in words) and all(_COLUMN.fullmatch(w) and not _CELL.fullmatch(w) for w in words)


def _read_line(matrix: _Matrix, line: str, number: int, name: str, block: str) -> tuple[str, bool]:
    """Take in one line; the block that the next one belongs to, and whether the line was understood."""
    first, *cells = line.split()
    if line.rstrip(":") in ("Legend", "NIC Legend"):
        return line.rstrip(":"), True
    if block == "rows" and first in matrix.names:
        _read_row(matrix, first, cells, number, name)
        return "rows", True
    if block == "NIC Legend" and re.fullmatch(r"[^\s:]+:\s*\S+", line):
        key, _, value = line.partition(":")
        matrix.legend[key.strip()] = value.strip()
        return block, True
    if re.fullmatch(r"(X|NV#|[A-Z]{3,4})\s*=.*", line):
        return block if block == "NIC Legend" else "Legend", True
    return block, False


def _read_row(matrix: _Matrix, row: str, cells: list[str], number: int, name: str) -> None:
    if row in matrix.line:
        message = "{name}, line {line}: a second row for {row}; the first is line {first}"
        raise FormatError(message, name=name, line=number, row=row, first=matrix.line[row])
    count = len(matrix.names)
    # A terminal may run two cells together (`NODENODE`); they are split, with a note.
    run_together = [cell for cell in cells if _RUN_TOGETHER.fullmatch(cell)]
    matrix.notes += [
        f"line {number}: {row} has {c!r}, read as {' and '.join(re.findall(_WORDS, c))}" for c in run_together
    ]
    cells = [part for cell in cells for part in (re.findall(_WORDS, cell) if _RUN_TOGETHER.fullmatch(cell) else [cell])]
    if len(cells) < count:
        message = (
            "{name}, line {line}: {row} has {cells} cells, but there are {count} columns; was the line cut or wrapped?"
        )
        raise FormatError(message, name=name, line=number, row=row, cells=len(cells), count=count)
    # `topo -p2p` prints a matrix of the same shape whose words say something else.
    if _P2P_STATUS & set(cells[:count]):
        raise FormatError(
            "{name}, line {line}: this is nvidia-smi topo -p2p's, which does not say over what; paste nvidia-smi "
            "topo -m",
            name=name,
            line=number,
        )
    for column, cell in zip(matrix.names, cells[:count], strict=True):
        if not _CELL.fullmatch(cell):
            raise FormatError(
                "{name}, line {line}: {row} to {column} is {cell}; expected X, NV#, PIX, PXB, PHB, NODE or SYS",
                name=name,
                line=number,
                row=row,
                column=column,
                cell=format_value(cell),
            )
        # A row or column out of place shows on the diagonal first.
        if (cell == "X") != (row == column):
            message = "{name}, line {line}: {row} to {column} is {cell}; X belongs on the diagonal, and only there"
            raise FormatError(message, name=name, line=number, row=row, column=column, cell=format_value(cell))
        matrix.word[row, column] = _OLD.get(cell, cell)
        matrix.old |= cell == "SOC"
    matrix.line[row] = number
    if len(cells) > count and cells[count] != "N/A":
        matrix.affinity[row] = cells[count]


def _note_asymmetry(matrix: _Matrix) -> None:
    for (a, b), word in matrix.word.items():
        back = matrix.word.get((b, a))
        if a < b and back is not None and back != word:
            matrix.notes.append(f"{a} to {b} is {word}, but {b} to {a} is {back}; the first is used")
        if word in ("N/A", "-") and a < b:
            matrix.notes.append(f"{a} to {b} is {word}: taken as SYS")


# ---- matrix to machine


def _collect_hints(matrix: _Matrix) -> MatrixHints:
    """What tells of the parts that are not in the text."""
    links = max((_count_links(matrix, g) for g in matrix.gpus), default=0)
    cards, sockets = tuple(matrix.legend.get(c, c) for c in matrix.cards), len(_group_by_socket(matrix))
    return MatrixHints(links=links, bridged=_has_bridges(matrix), old=matrix.old, cards=cards, sockets=sockets)


def _build_machine(matrix: _Matrix, name: str, taken: Guesses) -> tuple[Machine, list[str]]:
    notes: list[str] = []
    kind, slot = taken.gpu, build_pcie(taken.pcie)
    model = GPUS.get(kind, UNKNOWN)
    local = {n: f"gpu{i}" for i, n in enumerate(matrix.gpus)} | {n: f"nic{i}" for i, n in enumerate(matrix.cards)}
    builder = MachineBuilder()
    builder.add(*(local[n] for n in matrix.gpus))
    _connect_nvlinks(builder, matrix, local, kind)
    gpu_slot = build_pcie(taken.pcie, model.lanes)
    _connect_pcie(builder, matrix, local, slot, gpu_slot, taken.cpu)
    memory = usual_memory(taken.cpu)
    # Bandwidth of host memory bounds what is staged through it; the text cannot know it.
    notes.append(f"host memory ({memory.bandwidth / 1e9:g} GB/s) is not in the text: as in a usual server")
    # Where every pair has NVLink, nothing tells which GPUs share a PCIe switch.
    if (
        any(all(matrix.between(a, b).startswith("NV") for b in matrix.names if b != a) for a in matrix.gpus)
        and len(matrix.gpus) > 1
    ):
        notes.append(
            "NV# hides the PCIe words between GPUs; those without another hint are put on root ports of their own"
        )
    if any(_shares_switch(matrix, a, b) for i, a in enumerate(matrix.gpus) for b in matrix.gpus[i + 1 :]):
        notes.append(
            "NV# hides the PCIe words between GPUs; those with the same words to all cards are put on one switch"
        )
    notes += _note_missing_links(matrix)
    words = {(a, b): matrix.between(a, b) for a in matrix.names for b in matrix.names if a != b}
    devices = builder.devices
    machine = Machine.from_builder(
        builder,
        name=name,
        title=f"{len(matrix.gpus)} GPUs of {name}",
        about="read from nvidia-smi topo -m",
        gpu=kind,
        sm=model.sm,
        nic=taken.nic,
        amd_cpu=find_processor(taken.cpu).is_amd,
        p2p_over_pcie=model.p2p,
        gdr=model.gdr,
        bridge="NODE" if "NODE" in words.values() else "PHB",
        words={
            (devices.index(local[a]), devices.index(local[b])): w
            for (a, b), w in words.items()
            if w not in ("N/A", "-")
        },
        source=f"nvidia-smi topo -m in {name}; rates by the GPU's generation",
    )
    return machine, notes


def _note_missing_links(matrix: _Matrix) -> Iterator[str]:
    """A note where GPUs with NVLinks show fewer of them than others: nvidia-smi prints only links that are up."""
    counts = {gpu: _count_links(matrix, gpu) for gpu in matrix.gpus}
    most = max(counts.values(), default=0)
    short = [f"{gpu} {count}" for gpu, count in counts.items() if 0 < count < most]
    if short:
        yield (
            f"{', '.join(short)} of the {most} NVLinks that others show: those that are down are left out; "
            "nvidia-smi nvlink -s names them"
        )


def _count_links(matrix: _Matrix, gpu: str) -> int:
    widths = [
        int(w[2:]) for other in matrix.gpus if other != gpu and (w := matrix.between(gpu, other)).startswith("NV")
    ]
    if _has_nvswitch(matrix) and widths:
        return max(widths)
    return sum(widths)


def _has_nvswitch(matrix: _Matrix) -> bool:
    """NVSwitch: all pairs NV# with one number, and more GPUs than four, or more links than a GPU has for a mesh."""
    words = {matrix.between(a, b) for a in matrix.gpus for b in matrix.gpus if a != b}
    if len(words) != 1 or not (word := next(iter(words))).startswith("NV"):
        return False
    return len(matrix.gpus) > 4 or int(word[2:]) * (len(matrix.gpus) - 1) > _MAX_LINKS


def _connect_nvlinks(builder: MachineBuilder, matrix: _Matrix, local: dict[str, str], kind: str) -> None:
    gpus = matrix.gpus
    model = GPUS.get(kind, UNKNOWN)
    generation = model.nvlink
    if _has_nvswitch(matrix):
        width = int(matrix.between(gpus[0], gpus[1])[2:])
        for g in gpus:
            builder.connect(local[g], "nvswitch", build_nvlink(generation, width))
        return
    is_ga102 = model.sm == GA102_SM or (not kind and _has_bridges(matrix))
    for a, b, width in _list_nvlink_pairs(matrix):
        builder.connect(local[a], local[b], build_bridge(width) if is_ga102 else build_nvlink(generation, width))


def _list_nvlink_pairs(matrix: _Matrix) -> list[tuple[str, str, int]]:
    """GPUs with NV# between them, and the number."""
    words = [(a, b, matrix.between(a, b)) for a, b in itertools.combinations(matrix.gpus, 2)]
    return [(a, b, int(word[2:])) for a, b, word in words if word.startswith("NV")]


def _has_bridges(matrix: _Matrix) -> bool:
    """NV4 and no other, and no GPU in two pairs: the bridge of graphics cards."""
    pairs = _list_nvlink_pairs(matrix)
    linked_gpus = {g for a, b, _ in pairs for g in (a, b)}
    return bool(pairs) and all(width == 4 for *_, width in pairs) and len(linked_gpus) == 2 * len(pairs)


def _group_names(names: list[str], same: Any) -> list[list[str]]:
    """Classes of what is joined directly or through others, in order."""
    groups: list[list[str]] = []
    for n in names:
        matching_groups = [g for g in groups if any(same(n, other) for other in g)]
        groups = [g for g in groups if g not in matching_groups] + [[*(x for g in matching_groups for x in g), n]]
    return sorted(groups, key=lambda g: min(names.index(n) for n in g))


def _group_by_socket(matrix: _Matrix) -> list[list[str]]:
    def same(a: str, b: str) -> bool:
        near = matrix.between(a, b) in ("PIX", "PXB", "PHB", "NODE")
        return near or (a in matrix.affinity and matrix.affinity[a] == matrix.affinity.get(b))

    return _group_names(matrix.names, same)


def _shares_switch(matrix: _Matrix, a: str, b: str) -> bool:
    """Two GPUs whose own word NV# hides, and which see every card alike, one of them within PXB: they hang on one
    switch."""
    seen = [(matrix.between(a, card), matrix.between(b, card)) for card in matrix.cards]
    hidden = matrix.between(a, b).startswith("NV")
    return hidden and all(first == second for first, second in seen) and ("PXB", "PXB") in seen


def _connect_pcie(
    builder: MachineBuilder, matrix: _Matrix, local: dict[str, str], slot: Cable, gpu_slot: Cable, cpu: str
) -> None:
    """Switches for PIX pairs, switches above for PXB pairs, then sockets and their memories."""
    switches, sockets = itertools.count(), _group_by_socket(matrix)
    for s, members in enumerate(sockets):
        for tree in _group_names(members, lambda a, b: matrix.between(a, b) in ("PIX", "PXB")):
            leaves = _group_names(tree, lambda a, b: matrix.between(a, b) == "PIX" or _shares_switch(matrix, a, b))
            several = len(leaves) > 1
            if several:
                top = _add_switch(builder, f"cpu{s}", slot, switches)
            else:
                top = f"cpu{s}"
            for leaf in leaves:
                above = top
                if several or len(leaf) > 1:
                    above = _add_switch(builder, top, slot, switches)
                for member in leaf:
                    is_gpu = local[member].startswith("gpu")
                    builder.connect(local[member], above, gpu_slot if is_gpu else slot)
    for s in range(len(sockets)):
        builder.connect(f"cpu{s}", f"memory{s}", usual_memory(cpu))
        for other in range(s):
            builder.connect(f"cpu{other}", f"cpu{s}", build_socket_cable(cpu))


def _add_switch(builder: MachineBuilder, above: str, slot: Cable, switches: Iterator[int]) -> str:
    """One more PCIe switch, below a device; its name."""
    name = f"pcie{next(switches)}"
    builder.connect(name, above, slot)
    return name
