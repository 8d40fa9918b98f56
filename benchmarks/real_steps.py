"""How near the prediction of a training step is: one step split in several ways, on processes of this computer.

`python benchmarks/real_steps.py` prints, for docs/real.md: predicted, best and median of five runs, and the task that is
late by most. Other work on the computer spoils it; the load stands beside each row.
"""

import os

import collsim as cs
from collsim.lab.real_step_run import build_equal_layers

RANKS, RUNS = 4, 5
MODEL = build_equal_layers(8, "128KiB", "128KiB")
WAYS = {
    "ddp, 8 buckets of 128 KiB": cs.ddp("128KiB", view=True),
    "ddp, 4 buckets of 256 KiB": cs.ddp("256KiB", view=True),
    "ddp, 2 buckets of 512 KiB": cs.ddp("512KiB", view=True),
    "ddp, 1 bucket of 1 MiB": cs.ddp("1MiB", view=True),
    "zero(2)": cs.zero(2),
    "fsdp()": cs.fsdp(),
    "fsdp(prefetch=False)": cs.fsdp(prefetch=False),
    "pipeline(4, 'gpipe')": cs.pipeline(4, "gpipe"),
    "pipeline(4, '1f1b')": cs.pipeline(4, "1f1b"),
    "pipeline(2) * ddp()": cs.pipeline(2) * cs.ddp(),
    "parameter_server()": cs.parameter_server(bucket="128KiB"),
}


def main() -> None:
    for name, parallel in WAYS.items():
        t = cs.lab.training_step_for_real(
            MODEL, RANKS, parallel=parallel, compute=[(0.005, 0.02)] * 8, bandwidth="25MB/s", repeat=RUNS
        )
        predicted, best, median = (1e3 * x for x in (t.predicted.time, t.best, t.time))
        row = (
            f"{name:28} {predicted:8.1f} {best:8.1f} ({best / predicted - 1:+.1%}) {median:8.1f} ({t.difference:+.1%})"
        )
        print(f"{row}   load {os.getloadavg()[0]:.1f}   {t.explain()}", flush=True)


if __name__ == "__main__":
    main()
