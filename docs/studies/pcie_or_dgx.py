"""PCIe box against DGX for a 7B model's gradients.

7B 模型的梯度：PCIe 服务器与 DGX 对比。
"""

import collsim as cs
from collsim.viz import plots

gradients = 7_000_000_000 * 2  # bfloat16
boxes = [cs.machine(name) for name in ("pcie-8gpu", "dgx-a100", "dgx-h100")]
for box in boxes:
    run = cs.best("allreduce", box, gradients, algorithm=["allreduce_ring", "allreduce_halving_doubling"]).trace
    print(f"{box.name}: {cs.format_time(run.time)} with {run.schedule.label}, busbw {cs.format_bandwidth(run.busbw)}")
frame = cs.sweep("allreduce", ["allreduce_ring"], boxes, cs.size_range("1MiB:16GiB:4"))
plots.time_over_size(frame).figure.savefig("pcie_or_dgx.png")
