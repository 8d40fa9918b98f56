"""2:1 or 1:1 fabric at 1,024 GPUs?

1,024 个 GPU，网络结构的收敛比取 2:1 还是 1:1？
"""

import numpy as np

import collsim as cs
from collsim.viz import plots

shuffled = (
    (np.random.default_rng(0).permutation(128)[:, None] * 8 + np.arange(8)).ravel().tolist()
)  # nodes as a busy scheduler hands them out
for label, placement in (("in order", "node"), ("shuffled", shuffled)):
    runs = []
    for ratio in (1, 2):
        machine = cs.machine(
            "dgx-h100", nodes=128, fabric="leaf-spine", nodes_per_leaf=16, oversubscription=ratio, placement=placement
        )
        runs.append(cs.simulate(cs.schedule("allreduce_hierarchical", ranks=1024, per_node=8), machine, "1GiB"))
    print(f"nodes {label}: 1:1 takes {cs.format_time(runs[0].time)}, 2:1 takes {cs.format_time(runs[1].time)}")
plots.link_utilisation(runs[1]).figure.savefig("oversubscription.png")
