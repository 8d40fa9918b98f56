"""Should I buy NVLink bridges or a second NIC?

该买 NVLink 桥，还是第二块网卡？
"""

import collsim as cs
from collsim.viz import plots

bridged = cs.machine(
    "rtx3090-4gpu", nodes=2
)  # two workstations of four RTX 3090 in bridged pairs, one 25 GbE card each
bare = bridged
for node in (0, 1):
    for a, b in ((0, 1), (2, 3)):
        bare = bare.without_link(f"node{node}/gpu{a}", f"node{node}/gpu{b}")
choices = {"as it is": bare, "with bridges": bridged, "with twice the network": bare.scaled(kind="ethernet", by=2)}
runs = {
    label: cs.best("allreduce", machine, "256MiB", algorithm=["allreduce_ring", "allreduce_hierarchical"]).trace
    for label, machine in choices.items()
}
for label, run in runs.items():
    print(f"{label}: {cs.format_time(run.time)}. {run.explain()}")
plots.tornado(cs.analysis.sensitivity(runs["as it is"])).figure.savefig("nvlink_bridges.png")
