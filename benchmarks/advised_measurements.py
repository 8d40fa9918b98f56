"""Does the measurement that an answer advises narrow its interval most? `python benchmarks/advised_measurements.py` gives
each of fourteen requests every measurement of its list in turn, as a user would: a stated input, or a time that is the
predicted one (`measured=`), and prints high over low before and after each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from collsim.nccl import Facts, parse_facts, predict
from collsim.nccl.nccl_prediction import Prediction

LARGE = 2**32


@dataclass(frozen=True)
class Request:
    """A call on a machine in words."""

    collective: str
    words: tuple[str, int, int, str, str]
    nbytes: str

    @property
    def facts(self) -> Facts:
        """The machine."""
        return parse_facts(*self.words)

    def predict(self, **options: object) -> Prediction:
        """The call as it is asked for."""
        return predict(self.collective, self.facts, self.nbytes, **options)  # type: ignore[arg-type]

    def measure(self, *sizes: int | str) -> Prediction:
        """The call after times of other sizes were measured, each as predicted."""
        times = {f"{size}": predict(self.collective, self.facts, size).time for size in sizes}
        return self.predict(measured=times)

    def state(self, **values: object) -> Prediction:
        """The call after facts were stated to be what was assumed."""
        guessed = self.facts.guessed - set(values)
        known = {name: value for name, value in values.items() if value is not None}
        stated = replace(self.facts, guessed=frozenset(guessed), **known)  # type: ignore[arg-type]
        return predict(self.collective, stated, self.nbytes)


#: What each measurement gives, by the name of the input.
MEASUREMENTS: Mapping[str, Callable[[Request], Prediction]] = {
    "NIC rate": lambda request: request.state(nic_rate=None, slingshot=None),
    "GPU links": lambda request: request.state(wiring=None),
    "GPUDirect RDMA": lambda request: request.state(gdr=True),
    "launch": lambda request: request.predict(launch="process per gpu"),
    "algorithm": lambda request: request.predict(NCCL_ALGO="Tree"),
    "GPU": lambda request: request.state(gpu=None),
    "Slingshot settings": lambda request: request.measure("128KiB"),
    "channels": lambda request: request.measure("64KiB"),
    "incast": lambda request: request.measure(request.nbytes),
    **dict.fromkeys(
        ("TCP", "host memory", "NVLink domain", "congestion", "staged cards"), lambda request: request.measure(LARGE)
    ),
}
REQUESTS = (
    Request("allreduce", ("H100-SXM5", 16, 2, "nvlink4-nvswitch", "NIC rate not stated"), "1GiB"),
    Request("alltoall", ("H100-SXM5", 64, 8, "nvlink4-nvswitch", "NIC rate not stated"), "16MiB"),
    Request("allreduce", ("RTX 4090", 8, 1, "pcie4-x16-nop2p", "none"), "1MiB"),
    Request("allgather", ("A10G", 4, 4, "none", "1x25GbE (TCP sockets)"), "256MiB"),
    Request("alltoall", ("A10G", 16, 16, "none", "1x25GbE (TCP sockets)"), "64MiB"),
    Request("allreduce", ("GB200", 72, 18, "nvlink5-nvl72", "nvl72 (MNNVL)"), "1GiB"),
    Request("allreduce", ("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none"), "8KiB"),
    Request("allreduce", ("A100-SXM4", 256, 32, "nvlink3-nvswitch", "8xHDR200 IB"), "8GiB"),
    Request("allreduce", ("Banana", 128, 16, "nvlink3-nvswitch", "NIC rate not stated"), "1MiB"),
    Request("allreduce", ("A100-SXM4-40GB", 32, 8, "nvlink3-mesh4", "2xSlingshot (libfabric cxi)"), "256KiB"),
    Request("allreduce", ("A100-SXM4-40GB", 8, 2, "", "4xSlingshot"), "1GiB"),
    Request("allreduce", ("H100-SXM5", 2, 1, "", "none"), "64MiB"),
    Request("allreduce", ("H100-PCIe", 4, 4, "none", "1x400G RoCE"), "1GiB"),
    Request("allreduce", ("V100", 16, 2, "nvlink2-hybridcubemesh", "1x10GbE (TCP sockets)"), "512MiB"),
)


def main() -> None:
    """Print the table, and which requests are advised another measurement than the best."""
    wrong = 0
    for request in REQUESTS:
        before = request.predict()
        ratios = {entry.name: MEASUREMENTS[entry.name](request).interval().ratio for entry in before.unknown_inputs}
        advice = str(before.assumptions[-1])
        advised = next((e.name for e in before.unknown_inputs if advice.endswith(str(e.measurement))), "")
        best = min(ratios, key=lambda name: ratios[name], default="")
        wrong += bool(advised) and ratios[advised] > 1.02 * ratios[best]
        figures = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        width = f"{before.interval().ratio:.2f}"
        print(f"{request.collective} {request.nbytes} {request.words}: {width} -> {figures}; advised: {advised}")
    print(f"{wrong} of {len(REQUESTS)} advised another measurement than the best")


if __name__ == "__main__":
    main()
