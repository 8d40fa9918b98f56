"""GPUs by name: what files do not say of them, for readers and for a machine that is given another. The rows are in
`gpus.csv`, from the makers' data sheets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from ...errors import TopologyError, describe_unknown
from ...errors.collected_warnings import warn
from ...package_data import TomlTable, read_csv

#: Letters of a name up to which it is looked for as a word of its own, as `A2` is in `A2000` and `T4` in `DGXT4`.
_SHORT = 3


@dataclass(frozen=True)
class GpuModel:
    """A row of `gpus.csv`.

    Attributes:
        name: as people write it.
        sm: compute capability times ten; of AMD's the number of its architecture.
        nvlink: NVLink generation; 0 for none.
        links: NVLinks, or xGMI links of AMD's.
        pcie: PCIe generation of its slot.
        lanes: PCIe lanes of its slot.
        card: the network card that boxes with it usually have, a name of `cables.load_nics()`.
        p2p: whether the driver allows P2P over PCIe.
        gdr: whether the driver allows GPUDirect RDMA.
        series: a pattern of the names that it stands for where they have no row; "" for none.
        module_watts: most power of the module on a board (SXM, OAM); None where it is not sold so, or nothing is known.
        card_watts: most power of the PCIe card, likewise.
        power_source: where the power is published; "" where it is not known.
        source: where the rest is published.
    """

    name: str
    sm: int
    nvlink: int
    links: int
    pcie: int
    lanes: int
    card: str
    p2p: bool
    gdr: bool
    series: str
    source: str
    module_watts: float | None = None
    card_watts: float | None = None
    power_source: str = ""

    @property
    def is_amd(self) -> bool:
        """Whether RCCL runs on it."""
        return self.name.startswith("MI")


def _read_models() -> dict[str, GpuModel]:
    models = {}
    # Data sheets change more often than code, so models are rows of a file.
    for row in read_csv(__file__, "gpus.csv"):
        values: TomlTable = {**row}
        values |= {name: int(row[name]) for name in ("sm", "nvlink", "links", "pcie", "lanes")}
        values |= {name: row[name] == "1" for name in ("p2p", "gdr")}
        values |= {name: float(row[name] or 0) or None for name in ("module_watts", "card_watts")}
        models[row["name"]] = GpuModel(**values)
    return models


#: What is taken for a GPU that nothing tells: the generation of A100 and RTX 3090.
UNKNOWN = GpuModel("", 0, 3, 0, 4, 16, "ib-hdr", True, True, "", "nothing tells it")
#: By name.
GPUS: dict[str, GpuModel] = _read_models()


@cache
def _load_announcements() -> dict[str, tuple[str, int]]:
    """Maker and year by name of the chip."""
    return {row["name"]: (row["maker"], int(row["year"])) for row in read_csv(__file__, "announcements.csv")}


def find_announcement(gpu: str) -> tuple[str, int] | None:
    """The maker of a chip and the year in which it was announced; None for one that is not in the table."""
    announcements = _load_announcements()
    return announcements.get(max((name for name in announcements if name in gpu), key=len, default=""))


@cache
def load_gpu_speeds() -> dict[str, dict[str, str]]:
    """The rows of `gpu_speeds.csv` by name: arithmetic in Tflop/s, memory in TB/s and GB, and the source."""
    return {row["name"]: row for row in read_csv(__file__, "gpu_speeds.csv")}


def find_model(text: object) -> GpuModel | None:
    """Find the row of a GPU in a text.

    Args:
        text: as people write it, "NVIDIA A100-SXM4-80GB"; the longest name in it counts.

    Returns:
        The row; None where there is none.
    """
    return _find_model(str(text).upper())


@lru_cache(maxsize=256)
def _find_model(upper: str) -> GpuModel | None:
    matches = [name for name in GPUS if _build_pattern(name).search(upper)]
    return GPUS.get(max(matches, key=len, default=""))


@cache
def _build_pattern(name: str) -> re.Pattern[str]:
    """A name with or without blanks, not followed by a digit, as L4 is not L40."""
    words = r"[\s_-]*".join(map(re.escape, name.upper().split()))
    if len(name) <= _SHORT:
        words = rf"(?<![A-Z0-9]){words}"
    return re.compile(rf"{words}(?!\d)")


def find_nearest_model(text: object) -> GpuModel | None:
    """Find the row that stands for the series of a GPU that has none.

    Args:
        text: as people write it, "RTX 4070 Ti".

    Returns:
        The row; None where the name tells no series.
    """
    upper = str(text).upper()
    return next((model for model in GPUS.values() if model.series and re.search(model.series, upper)), None)


def label_gpu(value: object) -> str:
    """The name that a machine gets of a GPU: that of its row, or what was written where it has none.

    Args:
        value: as people write it.

    Returns:
        The name.
    """
    model = find_model(value)
    if model is None:
        return str(value).strip()
    return model.name


def find_gpu_name(value: object) -> str:
    """The name in `GPUS` that is in a text such as "NVIDIA A100-SXM4-80GB"; the longest counts. Of a GPU without a row
    the nearest, with a warning.

    Args:
        value: as nvidia-smi, NCCL or a person writes it.

    Raises:
        TopologyError: Where none is near.
    """
    model = find_model(value)
    if model is None:
        model = find_nearest_model(value)
        if model is None:
            raise TopologyError("gpu={value!r}: {unknown}", value=value, unknown=describe_unknown("GPU", value, GPUS))
        warn(f"gpu={value!r} is in no table of GPUs: taken for {model.name}, the nearest")
    return model.name
