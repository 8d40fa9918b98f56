"""A machine of its own."""

from collsim.topology.cables import build_nvlink
from collsim.topology.plan import Machine, Plan

_PLAN = Plan()
_PLAN.join("gpu0", "gpu1", build_nvlink(3, 12))

MACHINES = [
    Machine.from_plan(_PLAN, name="example-pair", title="A pair", about="2 A100 with a bridge.", source="an example")
]
