"""Which parts of a machine could be better, each as the words of `cs.machine` that change it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..errors import CollsimError
from ..locale import translate
from ..topology import Topology
from ..topology.cables import Nic, find_nic, load_nics
from ..topology.machine_builder import Machine
from ..topology.parts.gpus import GPUS, find_model
from ..topology.parts.nvlinks import NVLINK_WORDS
from ..train import get_gpu_speed, list_gpus

#: Parts that `upgrades` looks at, by the word of `cs.machine` or of the run that changes them.
PART_NAMES = (
    *("gdr", "p2p", "pxn", "bucket", "overlap", "algorithm"),
    *("nic", "nics", "nvlink", "pcie", "oversubscription", "gpus", "nodes", "gpu"),
)
#: Parts that nobody has to buy.
FREE_PARTS = ("gdr", "p2p", "pxn", "bucket", "overlap", "algorithm")
#: Parts that compute; all others carry bytes.
COMPUTING_PARTS = ("gpus", "nodes", "gpu")
#: Bucket sizes that are tried beside the one of the step; PyTorch's own is 25 MiB.
BUCKET_SIZES = ("5MiB", "10MiB", "50MiB", "100MiB", "250MiB")
#: A faster GPU has so many times the peak, or it is not worth a row.
_FASTER = 1.25
#: Faster GPUs that are tried, the nearest first.
_MAX_GPUS = 3


@dataclass(frozen=True)
class PartChange:
    """One part that could be better.

    Attributes:
        part: a name in `PART_NAMES`.
        value: what it would be.

    Examples:
        >>> import collsim as cs
        >>> str(cs.purchases.PartChange("nic", "roce-100"))
        'nic=roce-100'
    """

    part: str
    value: object

    @property
    def is_free(self) -> bool:
        """Whether it is a setting, which nobody has to buy."""
        return self.part in FREE_PARTS

    @property
    def is_of_machine(self) -> bool:
        """Whether `Topology.with_` makes it; else it is an option of the run."""
        return self.part not in ("bucket", "overlap", "algorithm")

    def text(self, language: str = "en") -> str:
        """What it is, in words.

        Args:
            language: `en` or `zh`.
        """
        value = str(self.value)
        if isinstance(self.value, str) and self.value in load_nics():
            value = f"{load_nics()[self.value].cable.bandwidth * 8 / 1e9:g}"
        key = f"part.{self.part}"
        if self.part == "nvlink" and value in NVLINK_WORDS:
            key += f".{value}"
        if self.part == "nic":
            key += f".{str(self.value).split('-')[0]}"
        return translate(language, "purchases", key, value=value)

    def __str__(self) -> str:
        return f"{self.part}={self.value}"


@dataclass(frozen=True)
class MachineParts:
    """What could be better in a machine.

    Attributes:
        topology: the machine as it is.
    """

    topology: Topology

    @cached_property
    def machine(self) -> Machine:
        """One of its nodes.

        Raises:
            CollsimError: It is a network without machines.
        """
        machine = self.topology.facts.machine
        if machine is None:
            message = (
                "{name} is no machine, so there are no parts to buy; cs.analysis.sensitivity says which links count"
            )
            raise CollsimError(message, name=self.topology.name)
        return machine

    @property
    def card(self) -> Nic | None:
        """The network card of its nodes."""
        if not self.machine.of_kind("nic"):
            return None
        return find_nic(self.topology.facts.options.get("nic") or self.machine.nic)

    @property
    def is_board(self) -> bool:
        """Whether its GPUs are modules on a board: joined by a switch, or each to several others."""
        peers: dict[str, set[str]] = {}
        for a, b, cable in self.machine.connections:
            if cable.kind in ("nvlink", "xgmi"):
                peers.setdefault(a, set()).add(b)
                peers.setdefault(b, set()).add(a)
        return any(len(others) > 1 for others in peers.values())

    def list_changes(self) -> Iterator[PartChange]:
        """List what could be better, free settings first; of a part the smaller step first."""
        yield from self._list_settings()
        if self.topology.facts.nodes > 1 and self.card is not None:
            yield from self._list_cards(self.card)
        yield from self._list_inside()
        if self._get_option("oversubscription", 1) > 1:
            yield PartChange("oversubscription", 1)

    def list_more_gpus(self) -> Iterator[PartChange]:
        """List ways to have more GPUs: those of each node that are not used, and twice the nodes."""
        base, here = self.topology.facts.base, len(self.machine.of_kind("gpu"))
        if base is not None and here and here < len(base.of_kind("gpu")):
            yield PartChange("gpus", min(2 * here, len(base.of_kind("gpu"))))
        if self.card is not None:
            yield PartChange("nodes", 2 * self.topology.facts.nodes)

    def list_faster_gpus(self, gpu: str, dtype: str) -> Iterator[PartChange]:
        """List GPUs of the same maker that compute faster.

        Args:
            gpu: a name of `list_gpus()`, which computes now.
            dtype: what is computed in.
        """
        model, peaks = find_model(gpu), dict[float, str]()
        if gpu not in list_gpus() or model is None:
            return
        # A GPU that is hardly faster would never be bought for speed, so it is not offered.
        least = _FASTER * get_gpu_speed(gpu, dtype).peak
        for name in list_gpus():
            other, peak = find_model(name), get_gpu_speed(name, dtype).peak
            if other is None or other.is_amd != model.is_amd or peak < least:
                continue
            watts = other.card_watts
            if self.is_board:
                watts = other.module_watts
            # Of GPUs of one speed the first in the table stands for all.
            if watts is not None:  # it is sold in that form
                peaks.setdefault(peak, name)
        for peak in sorted(peaks)[:_MAX_GPUS]:
            yield PartChange("gpu", peaks[peak])

    def _get_option(self, name: str, default: float) -> float:
        return float(self.topology.facts.options.get(name, default))

    def _list_settings(self) -> Iterator[PartChange]:
        """Settings of the driver and of NCCL that are off."""
        options, machine = self.topology.facts.options, self.machine
        if options.get("gdr", True) is not True and machine.gdr and (self.card is None or self.card.rdma):
            yield PartChange("gdr", True)
        if options.get("p2p", True) is not True:
            yield PartChange("p2p", True)
        if options.get("pxn", True) is False:
            yield PartChange("pxn", True)

    def _list_cards(self, card: Nic) -> Iterator[PartChange]:
        """Faster cards of the same kind of network, the same rate with RDMA, and more of them."""
        family = card.name.split("-")[0]
        faster = [
            # Another kind of network (its family) is another purchase, which `list_changes` does not propose here.
            nic
            for nic in load_nics().values()
            if nic.name.split("-")[0] == family and _get_rate(nic) > _get_rate(card)
        ]
        if not card.rdma:  # Ethernet with RDMA, at the same rate too
            faster += [
                nic for nic in load_nics().values() if nic.name.startswith("roce") and _get_rate(nic) >= _get_rate(card)
            ]
        for nic in sorted(faster, key=lambda nic: (_get_rate(nic), nic.rdma)):
            yield PartChange("nic", nic.name)
        here, gpus = len(self.machine.of_kind("nic")), len(self.machine.of_kind("gpu"))
        # Twice the cards, or one for each GPU: what boards offer; counts between them rarely fit the slots.
        for count in dict.fromkeys((2 * here, gpus)):
            if count > here and self._fits("nics", count):
                yield PartChange("nics", count)

    def _list_inside(self) -> Iterator[PartChange]:
        """NVLinks where there are none, and a newer PCIe where the GPU speaks it."""
        cables = [cable for *_, cable in self.machine.connections]
        if not any(cable.kind in ("nvlink", "xgmi") for cable in cables) and len(self.machine.of_kind("gpu")) > 1:
            yield from (PartChange("nvlink", word) for word in ("bridge", "board") if self._fits("nvlink", word))
        model = find_model(self.machine.gpu)
        slots = [int(cable.label.split()[1].split(".")[0]) for cable in cables if cable.label.startswith("PCIe ")]
        if model is not None and slots:
            yield from (PartChange("pcie", number) for number in range(min(slots) + 1, GPUS[model.name].pcie + 1))

    def _fits(self, part: str, value: object) -> bool:
        """Whether the machine can have it: there is a slot, the GPU is sold so."""
        try:
            self.topology.with_(**{part: value})
        except CollsimError:
            return False
        return True


def _get_rate(nic: Nic) -> float:
    return nic.cable.nominal or nic.cable.bandwidth
