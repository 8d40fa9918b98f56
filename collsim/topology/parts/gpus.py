"""GPUs by name: what files do not say of them, for readers and for a machine that is given another."""

from __future__ import annotations

from ...errors import TopologyError, describe_unknown

#: GPU name as people write it -> (compute capability, NVLink generation or 0, PCIe generation, usual network card).
GPUS = {
    "P100": (60, 1, 3, "ib-edr"),
    "V100": (70, 2, 3, "ib-edr"),
    "T4": (75, 0, 3, "ib-edr"),
    "RTX 2080": (75, 2, 3, "ib-edr"),
    "A100": (80, 3, 4, "ib-hdr"),
    "A800": (80, 3, 4, "ib-hdr"),
    "A30": (80, 3, 4, "ib-hdr"),
    "A10": (86, 0, 4, "ib-hdr"),
    "A40": (86, 3, 4, "ib-hdr"),
    "A5000": (86, 3, 4, "ib-hdr"),
    "A6000": (86, 3, 4, "ib-hdr"),
    "RTX 3090": (86, 3, 4, "ib-hdr"),
    "RTX 4090": (89, 0, 4, "ib-hdr"),
    "6000 ADA": (89, 0, 4, "ib-hdr"),
    "L4": (89, 0, 4, "ib-hdr"),
    "L40": (89, 0, 4, "ib-hdr"),
    "H100": (90, 4, 5, "ib-ndr"),
    "H200": (90, 4, 5, "ib-ndr"),
    "H800": (90, 4, 5, "ib-ndr"),
    "H20": (90, 4, 5, "ib-ndr"),
    "B200": (100, 5, 5, "ib-ndr"),
    "B300": (103, 5, 6, "ib-xdr"),
    "RTX 5090": (120, 0, 5, "ib-ndr"),
    "PRO 6000": (120, 0, 5, "ib-ndr"),
}
#: Those whose NVLinks are a bridge to one other card, and those whose driver has neither P2P over PCIe nor GPUDirect
#: RDMA.
BRIDGED = {"A40", "A5000", "A6000", "RTX 3090"}
GEFORCE = {"RTX 2080", "RTX 3090", "RTX 4090", "RTX 5090"}

#: Who makes a chip, and the year in which it was announced (P100 GTC 2016, V100 GTC 2017, A100 May 2020, RTX 30 and A40
#: autumn 2020, H100 GTC 2022, RTX 40 autumn 2022, H800 and H200 2023, B200 GTC 2024; MI300X December 2023; TPU v4
#: Google I/O 2021, v5e August and v5p December 2023: the makers' own announcements).
ANNOUNCED = {
    "P100": ("NVIDIA", 2016),
    "V100": ("NVIDIA", 2017),
    "A100": ("NVIDIA", 2020),
    "A40": ("NVIDIA", 2020),
    "RTX 3090": ("NVIDIA", 2020),
    "A6000": ("NVIDIA", 2020),
    "RTX 4090": ("NVIDIA", 2022),
    "H100": ("NVIDIA", 2022),
    "H800": ("NVIDIA", 2023),
    "H200": ("NVIDIA", 2023),
    "B200": ("NVIDIA", 2024),
    "MI300X": ("AMD", 2023),
    "TPU v4": ("Google", 2021),
    "TPU v5e": ("Google", 2023),
    "TPU v5p": ("Google", 2023),
}


def announced(gpu: str) -> tuple[str, int] | None:
    """The maker of a chip and the year in which it was announced; None for one that is not in the table."""
    found = max((name for name in ANNOUNCED if name in gpu), key=len, default="")
    return ANNOUNCED.get(found)


def gpu_name(value: object) -> str:
    """The name in `GPUS` that is in a text such as "NVIDIA A100-SXM4-80GB"; the longest counts.

    Raises TopologyError where none is.
    """
    found = max((name for name in GPUS if name in str(value).upper()), key=len, default="")
    if not found:
        raise TopologyError(
            "gpu={value!r}: {unknown}", value=value, unknown=describe_unknown("GPU", str(value).upper(), GPUS)
        )
    return found
