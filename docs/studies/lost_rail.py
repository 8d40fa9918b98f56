"""What does losing one InfiniBand rail cost?

断掉一条 InfiniBand 轨道（rail），代价有多大？
"""

import collsim as cs
from collsim.viz import plots

whole = cs.machine("dgx-a100", nodes=4)
broken = whole.without_link("node0/nic3", "fabric/switch0")  # one cable of 32
for channels in (8, 1):
    a, b = (
        cs.simulate(cs.schedule("allreduce_ring", topology=whole, channels=channels), machine, "1GiB")
        for machine in (whole, broken)
    )
    print(f"{channels} channels: {cs.analysis.compare_runs(a, b)}")
    if channels == 8:
        plots.link_utilisation(b).figure.savefig("lost_rail.png")
