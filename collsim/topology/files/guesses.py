"""What `nvidia-smi topo -m` does not say and a machine needs: the GPU, its PCIe, the processors, the cards. What
the caller states, else the usual, which is then an assumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import TopologyError, format_value
from ...package_data import read_number_tables
from ...units import parse_count
from ..facts import Assumption
from ..parts.gpus import GPUS, UNKNOWN, find_gpu_name
from ..parts.sockets import choose_processor, find_processor, load_processors

#: NVLinks of a GPU up to which it is taken for a generation (data sheets); of drivers that say SOC, before V100.
_BY_LINKS, _OLD_BY_LINKS = ((0, ""), (6, "V100"), (12, "A100"), (18, "H100")), ((0, ""), (4, "P100"))
#: Cards that a bridge of NVLink joins in pairs, where somebody bought one, and its links: fewer are seen where the
#: contact is partial (NVIDIA/nccl issue 557).
_BRIDGED, _BRIDGE_LINKS = ("A6000", "RTX 3090"), 4
#: What is tried in place of a guess, to say how much depends on it.
_OTHERS = read_number_tables(__file__, "guesses.toml")
# Generations that GPUs in use have.
_MIN_PCIE, _MAX_PCIE = 3, 6


@dataclass(frozen=True)
class MatrixHints:
    """What the matrix of `nvidia-smi topo -m` shows of parts that it does not name.

    Attributes:
        links: NVLinks of the GPU that has most.
        bridged: are they bridges of pairs?
        old: was it written by a driver before V100?
        cards: names of the network cards.
        sockets: number of them.
    """

    links: int
    bridged: bool
    old: bool
    cards: tuple[str, ...]
    sockets: int


@dataclass(frozen=True)
class Guesses:
    """Parts of a node that a file does not name.

    Attributes:
        gpu: a name in `GPUS`; empty where nothing tells.
        pcie: generation.
        cpu: processor, which says what joins the sockets.
        nic: the network card.
        assumptions: what of these was assumed, with the reason.
    """

    gpu: str
    pcie: int
    cpu: str
    nic: str
    assumptions: tuple[Assumption, ...]


def guess_parts(seen: MatrixHints, options: Mapping[str, object]) -> Guesses:
    """Told by `options` (gpu, pcie, cpu; nic is left to `machine`), else the usual.

    Args:
        seen: what the text shows of the machine.
        options: `gpu`, `pcie` and `cpu`, where they are known.

    Raises:
        TopologyError: For unknown names.
    """
    assumptions: list[Assumption] = []
    kind = _guess_gpu(seen, options.get("gpu"), assumptions)
    model = GPUS.get(kind, UNKNOWN)
    card = model.card
    generation = _guess_pcie(model.pcie, options.get("pcie"), assumptions)
    chip = _guess_processor(seen, kind, generation, options.get("cpu"), assumptions)
    if seen.cards:
        names = ", ".join(seen.cards)
        reason = f"the rate of {names} is not in the text", f"文本没有说明 {names} 的速率"
        assumptions.append(Assumption("nic", card, reason, _OTHERS["cards"][card]))
    return Guesses(kind, generation, chip, card, tuple(assumptions))


def _guess_gpu(seen: MatrixHints, requested: object, assumptions: list[Assumption]) -> str:
    if requested is not None:
        # NV# in the text is evidence; a GPU without NVLink contradicts it.
        kind = find_gpu_name(requested)
        if seen.links and not GPUS[kind].nvlink:
            raise TopologyError(
                "gpu={value} has no NVLink, but the text has NV# between GPUs; give the GPU that it was printed on",
                value=format_value(requested),
            )
        return kind
    if seen.bridged:
        reason = "NV4 between pairs only", "只有成对的 NV4"
        taken = "the bridge of RTX 3090, A6000 and A40, 14 GB/s per link"
        assumptions.append(Assumption("gpu", taken, reason, _BRIDGED))
        return ""
    table = (*(_OLD_BY_LINKS if seen.old else ()), *_BY_LINKS)
    # The fewest links that fit: a GPU with more would have shown them unless some are down.
    kind = next((name for most, name in table if seen.links <= most), "B200")
    reason = (
        f"the GPU is not in the text (at most {seen.links} NVLinks)",
        f"文本没有说明 GPU（至多 {seen.links} 条 NVLink）",
    )
    others = _OTHERS["gpus"][kind]
    if kind == "V100" and seen.links <= _BRIDGE_LINKS:
        others = (_BRIDGED[1], *others)
    assumptions.append(Assumption("gpu", kind or "one without NVLink, PCIe 4.0", reason, others))
    return kind


def _guess_pcie(default: int, requested: object, assumptions: list[Assumption]) -> int:
    if requested is not None:
        return parse_count(requested, "pcie")
    others = tuple(g for g in (default - 1, default + 1) if _MIN_PCIE <= g <= _MAX_PCIE)
    assumptions.append(Assumption("pcie", f"{default}.0 ×16", ("PCIe is not in the text", "文本没有说明 PCIe"), others))
    return default


def _guess_processor(seen: MatrixHints, kind: str, pcie: int, requested: object, assumptions: list[Assumption]) -> str:
    if requested is not None:
        find_processor(requested)
        return str(requested)
    if seen.old or kind == "P100":
        processor = "broadwell"
    else:
        processor = choose_processor(pcie)
    if seen.sockets > 1:
        rate = load_processors()[processor].link.bandwidth / 1e9
        reason = "the link between sockets is not in the text", "文本没有说明 CPU 插槽间的链路"
        taken = f"that of {processor}, {rate:g} GB/s"
        assumptions.append(Assumption("cpu", taken, reason, _OTHERS["processors"][processor]))
    return processor
