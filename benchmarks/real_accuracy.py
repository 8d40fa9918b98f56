"""How near the prediction is: seven allreduces on processes of this computer at 10 MB/s and 10 ms, the best of five.

`python benchmarks/real_accuracy.py [nbytes [ranks]]` prints, for docs/real.md: predicted as asked, predicted with what a message
and a byte were measured to cost, measured, and whether the order of the algorithms is the predicted one. It fails where
the order is not, or an error after calibration is more than a tenth. Other work on the computer spoils it; the load
stands beside each row.
"""

import os
import sys

import numpy as np

import collsim as cs
from collsim.lab.lateness import predict_calibrated

NAMES = (
    "allreduce_ring",
    "allreduce_halving_doubling",
    "allreduce_recursive_doubling",
    "allreduce_tree",
    "allreduce_direct_two_shot",
    "allreduce_swing",
    "allreduce_data_parallel",
)
RUNS = 5


def main(nbytes: str = "4MiB", ranks: str = "8") -> int:
    rows = []
    for name in NAMES:
        t = cs.run_for_real(cs.schedule(name, ranks=int(ranks)), nbytes, repeat=RUNS, calibrate=True, time_limit="300s")
        fitted = predict_calibrated(t).time
        rows.append((name, t.predicted.time, fitted, t.best, float(np.median(t.times))))
        columns = " ".join(f"{1e3 * x:9.1f}" for x in rows[-1][1:])
        cost = f"{1e3 * t.calibrated.alpha:.2f} ms {t.calibrated.bandwidth / 1e6:.2f} MB/s"
        print(f"{name:30} {columns}   {fitted / t.best - 1:+.1%}   {cost}   load {os.getloadavg()[0]:.1f}", flush=True)
    predicted, best = (np.array([row[i] for row in rows]) for i in (1, 3))
    apart = predicted[:, None] > 1.01 * predicted  # the prediction calls halving doubling and swing equal
    right = bool((best[:, None] > best)[apart].all())
    worst = max(abs(row[2] / row[3] - 1) for row in rows)
    print(f"order as predicted: {right}; largest error after calibration {worst:.1%}")
    return 0 if right and worst <= 0.1 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
