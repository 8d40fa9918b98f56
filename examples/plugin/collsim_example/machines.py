"""A machine of its own."""

from collsim.topology.cables import build_nvlink
from collsim.topology.machine_builder import Machine, MachineBuilder

_BUILDER = MachineBuilder()
_BUILDER.connect("gpu0", "gpu1", build_nvlink(3, 12))

MACHINES = [
    Machine.from_builder(
        _BUILDER, name="example-pair", title="A pair", about="2 A100 with a bridge.", source="an example"
    )
]
