"""The synthesized algorithms of SCCL, msccl-tools and TACCL (`*.msccl.json`, `*.sccl.json`): what `msccl solve` writes.

Grammar (microsoft/msccl-tools, msccl/serialization.py, algorithm.py, collectives.py; older files and TACCL's say
`sccl_type` for `msccl_type`): an object of type `algorithm` with `collective` {`nodes`, `chunks`: [{`pre`: ranks,
`post`: ranks, `addr`}]}, `instance` {`chunks`: pieces that every chunk is cut into} and `steps`: [{`rounds`, `sends`:
[[address, src, dst, ...]]}]. Chunks with one address are contributions to one sum. A send adds what the source has at
an address, as it was when the step began, to what the target has there.

Which collective it is follows from who has what before and after, not from the name. A send is a copy where the
target's contributions are among those that come, a reduction where they have none in common; anything between would
count some twice, and is refused. `rounds` and `topology` say how many sends a link of the synthesizer's machine takes
at a time; the simulation has its own machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import Sentence, Words
from ..files import FilePath, parse_whole_number, read_json, refuse
from ..schedule import Schedule
from ..steps import Step, copy, reduce
from .collsim_csv import freeze_rows
from .file_formats import register_built_in

_MAKERS: dict[str, Callable[..., Step]] = {"copy": copy, "reduce": reduce}
_MAX_RANKS, _MAX_PIECES, _MAX_CELLS, _MAX_SENDS = 4096, 1024, 16_000_000, 5_000_000


@dataclass(frozen=True)
class Address:
    """One address of the collective.

    Attributes:
        before: ranks that contribute to it, ascending.
        after: ranks that want the whole of it.
        sums: is it the sum of several contributions?
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    sums: bool


@dataclass(frozen=True)
class AddressMap:
    """The collective that the addresses make up, and where they lie in our buffers.

    Attributes:
        collective: collsim's name of it.
        root: the root rank; 0 where the collective has none.
        chunks: per buffer.
        slots: for each address its slot at the source, at the target, and on the way; the same three times except for
            alltoall.
    """

    collective: str
    root: int
    chunks: int
    slots: list[tuple[int, int, int]]


def read_msccl_tools(path: FilePath) -> Schedule:
    """The schedule of a synthesized algorithm.

    Args:
        path: of the JSON file.

    Raises:
        FormatError: With the step and the send that cannot be.
    """
    data = read_json(path)
    if not isinstance(data, dict) or _get_type(data) != "algorithm":
        refuse(path, "", "expected an object of msccl_type 'algorithm', found {kind!r}", kind=_get_type(data))
    ranks, addresses = _parse_addresses(path, data)
    layout = _build_address_map(path, addresses, ranks)
    steps = _Sends(path, addresses, layout, ranks).build_steps(data)
    facts = {
        "name": str(data.get("name", "msccl_tools")),
        "collective": layout.collective,
        "ranks": ranks,
        "chunks": layout.chunks,
        "root": layout.root,
    }
    return freeze_rows(path, facts, steps)


def _get_type(data: object) -> object:
    if isinstance(data, dict):
        return data.get("msccl_type") or data.get("sccl_type")
    return type(data).__name__


def _parse_object(path: FilePath, data: dict[str, object], key: str) -> dict[str, object]:
    value = data.get(key)
    if not isinstance(value, dict):
        refuse(path, key, "expected an object")
    return value


def _list(path: FilePath, where: Words, value: object) -> list[object]:
    if not isinstance(value, list):
        refuse(path, where, "expected a list")
    return value


# ---- the collective


def _parse_addresses(path: FilePath, data: dict[str, object]) -> tuple[int, list[Address]]:
    """(ranks, addresses in order), every address cut into the instance's pieces."""
    collective = _parse_object(path, data, "collective")
    ranks = parse_whole_number(path, "collective", "nodes", collective.get("nodes"), 2, _MAX_RANKS)
    pieces = parse_whole_number(
        path, "instance", "chunks", _parse_object(path, data, "instance").get("chunks", 1), 1, _MAX_PIECES
    )
    conditions: dict[int, list[tuple[tuple[int, ...], tuple[int, ...]]]] = defaultdict(list)
    for i, chunk in enumerate(_list(path, "collective, chunks", collective.get("chunks"))):
        where = Sentence("collective, chunk {i}", i=i)
        if not isinstance(chunk, dict):
            refuse(path, where, "expected an object with pre, post and addr")
        before, after = (_parse_ranks(path, where, key, chunk.get(key), ranks) for key in ("pre", "post"))
        conditions[parse_whole_number(path, where, "addr", chunk.get("addr"), 0, 2**31)].append((before, after))
    if sorted(conditions) != list(range(len(conditions))) or not conditions:
        refuse(
            path, "collective", "addresses {values}; expected 0, 1, 2 ... without gaps", values=sorted(conditions)[:8]
        )
    # Cells are what has to be followed through the program, and are limited before any array exists.
    if len(conditions) * pieces * ranks > _MAX_CELLS:
        message = "{values:,} addresses on {ranks} ranks; at most {most:,} cells are followed"
        refuse(path, "", message, values=len(conditions) * pieces, ranks=ranks, most=_MAX_CELLS)
    return ranks, [_parse_address(path, a, conditions[a]) for a in range(len(conditions)) for _ in range(pieces)]


def _parse_ranks(path: FilePath, where: Words, key: str, value: object, ranks: int) -> tuple[int, ...]:
    listed = _list(path, Sentence("{where}, {key}", where=where, key=key), value)
    return tuple(sorted({parse_whole_number(path, where, key, r, 0, ranks - 1) for r in listed}))


def _parse_address(path: FilePath, number: int, chunks: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> Address:
    """Chunks of one address are contributions to a sum: one from each of several ranks, all wanted by the same
    ranks."""
    where, after = Sentence("address {number}", number=number), chunks[0][1]
    if any(len(before) != 1 for before, _ in chunks) or any(target != after for _, target in chunks):
        refuse(path, where, "each chunk must start on one rank, and those of one address go to the same ranks")
    before = tuple(sorted(b[0] for b, _ in chunks))
    if len(set(before)) != len(before):
        refuse(path, where, "one rank contributes twice")
    return Address(before, after, len(chunks) > 1)


def _build_address_map(path: FilePath, addresses: list[Address], ranks: int) -> AddressMap:
    """Which collective has these conditions, and where its addresses lie in our buffers."""
    everyone = tuple(range(ranks))
    sums = any(a.sums for a in addresses)
    to_all = all(a.after == everyone for a in addresses)
    # Chunks must end at all ranks or at one each, and all be sums or none: no collective of ours mixes these.
    if not (to_all or all(len(a.after) == 1 for a in addresses)) or sums != all(a.sums for a in addresses):
        return _map_unknown(path)
    if sums and any(a.before != everyone for a in addresses):
        return _map_unknown(path)
    sources, targets = [a.before[0] for a in addresses], [a.after[0] for a in addresses]
    one_source, one_target = len(set(sources)) == 1, len(set(targets)) == 1
    # From the most to the least specific: sums first, then who has and who gets.
    if sums and to_all:
        return _map_in_order("allreduce", 0, len(addresses))
    if sums and one_target:
        return _map_in_order("reduce", targets[0], len(addresses))
    if sums:
        return _map_blocks(path, "reduce_scatter", 0, targets, ranks)
    if to_all and one_source:
        return _map_in_order("broadcast", sources[0], len(addresses))
    if to_all:
        return _map_blocks(path, "allgather", 0, sources, ranks)
    if one_source:
        return _map_blocks(path, "scatter", sources[0], targets, ranks)
    if one_target:
        return _map_blocks(path, "gather", targets[0], sources, ranks)
    return _map_pairs(path, sources, targets, ranks)


def _map_unknown(path: FilePath) -> AddressMap:
    refuse(
        path, "collective", "its conditions are those of no collective that is known here (a scan, or one made by hand)"
    )


def _map_in_order(name: str, root: int, count: int) -> AddressMap:
    return AddressMap(name, root, count, [(a, a, a) for a in range(count)])


def _map_blocks(path: FilePath, name: str, root: int, owner: list[int], ranks: int) -> AddressMap:
    """Each rank owns as many addresses as any other; its block holds them in their order."""
    per, rest = divmod(len(owner), ranks)
    seen = [0] * ranks
    slots = []
    for rank in owner:
        slots.append((rank * per + seen[rank],) * 3)
        seen[rank] += 1
    if rest or set(seen) != {per}:
        message = "{name} with {least} to {most} addresses per rank; expected as many on each"
        refuse(path, "collective", message, name=name, least=min(seen), most=max(seen))
    return AddressMap(name, root, len(owner), slots)


def _map_pairs(path: FilePath, sources: list[int], targets: list[int], ranks: int) -> AddressMap:
    """alltoall: read in the target's block at the source, written into the source's block after all that is sent,
    relayed after both."""
    per, rest = divmod(len(sources), ranks * ranks)
    seen = [[0] * ranks for _ in range(ranks)]
    chunks, slots = ranks * per, []
    for address, (source, target) in enumerate(zip(sources, targets, strict=True)):
        k = seen[source][target]
        seen[source][target] += 1
        slots.append((target * per + k, chunks + source * per + k, 2 * chunks + address))
    if rest or {count for row in seen for count in row} != {per}:
        refuse(path, "collective", "alltoall with more addresses between some ranks than between others")
    return AddressMap("alltoall", 0, chunks, slots)


# ---- the sends


class _Sends:
    """The steps, followed with what every rank holds at every address: a set of contributing ranks, as bits."""

    def __init__(self, path: FilePath, addresses: list[Address], layout: AddressMap, ranks: int) -> None:
        self.path, self.addresses, self.layout, self.ranks = path, addresses, layout, ranks
        self.contributions = {(rank, a): 1 << rank for a, address in enumerate(addresses) for rank in address.before}

    def build_steps(self, data: dict[str, object]) -> list[list[Step]]:
        steps: list[list[Step]] = []
        total = 0
        for number, step in enumerate(_list(self.path, "steps", data.get("steps"))):
            sends = _list(
                self.path,
                Sentence("step {number}, sends", number=number),
                step.get("sends") if isinstance(step, dict) else None,
            )
            total += len(sends)
            if total > _MAX_SENDS:
                refuse(self.path, Sentence("step {number}", number=number), "more than {most:,} sends", most=_MAX_SENDS)
            rows = self._build_step_rows(number, sends)
            # In an alltoall a rank's block for itself stays in place in this format, and moves to the result here.
            if number == 0 and self.layout.collective == "alltoall":
                kept_blocks = [
                    (a.before[0], slots)
                    for a, slots in zip(self.addresses, self.layout.slots, strict=True)
                    if a.before == a.after
                ]
                rows["copy"] += [(rank, rank, slots[0], slots[1]) for rank, slots in kept_blocks]
            built = [make(*map(list, zip(*rows[name], strict=True))) for name, make in _MAKERS.items() if rows[name]]
            if built:
                steps.append(built)
        return steps

    def _build_step_rows(self, number: int, sends: list[object]) -> dict[str, list[tuple[int, int, int, int]]]:
        """(src, dst, slot read, slot written) of each transfer, by what it does."""
        before, copied = dict(self.contributions), set[tuple[int, int]]()
        rows: dict[str, list[tuple[int, int, int, int]]] = {"copy": [], "reduce": []}
        for send in sends:
            address, src, dst = self._parse_send(number, send)
            where = Sentence(
                "step {number}, send of address {address} from {src} to {dst}",
                number=number,
                address=address,
                src=src,
                dst=dst,
            )
            coming, there = before.get((src, address), 0), self.contributions.get((dst, address), 0)
            if not coming:
                refuse(self.path, where, "rank {src} holds nothing at this address yet", src=src)
            if coming | there == there:
                continue  # nothing new comes
            # A set of contributors is a whole number with a bit for each rank, so sets are compared without loops.
            adds = there and not there & coming
            written = there != before.get((dst, address), 0)
            if (dst, address) in copied or (not adds and (written or there & coming != there)):
                both = [r for r in range(self.ranks) if (there & coming) >> r & 1]
                if both:
                    counted = Sentence("ranks {both} would count twice", both=both[:8])
                else:
                    counted = Sentence("two sends of this step write the same place")
                refuse(self.path, where, counted)
            if not adds:
                copied.add((dst, address))
            self.contributions[dst, address] = there | coming
            rows["reduce" if adds else "copy"].append(
                (src, dst, self._find_slot(src, address), self._find_slot(dst, address))
            )
        return rows

    def _parse_send(self, number: int, send: object) -> tuple[int, int, int]:
        if not isinstance(send, list) or len(send) < 3:
            message = "send {send}; expected [address, src, dst]"
            refuse(self.path, Sentence("step {number}", number=number), message, send=str(send)[:60])
        where = Sentence("step {number}, send {send}", number=number, send=str(send)[:60])
        address = parse_whole_number(self.path, where, "address", send[0], 0, len(self.addresses) - 1)
        src, dst = (
            parse_whole_number(self.path, where, name, value, 0, self.ranks - 1)
            for name, value in (("src", send[1]), ("dst", send[2]))
        )
        return address, src, dst

    def _find_slot(self, rank: int, address: int) -> int:
        at_source, at_target, on_the_way = self.layout.slots[address]
        target = self.addresses[address]
        if self.layout.collective != "alltoall" or rank == target.before[0]:
            return at_source
        if rank == target.after[0]:
            return at_target
        return on_the_way


register_built_in(
    "msccl-tools", read=read_msccl_tools, looks=lambda head: '"msccl_type"' in head or '"sccl_type"' in head
)
