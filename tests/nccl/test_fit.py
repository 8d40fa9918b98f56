"""Calibration: it must find what was put in, and say where it has not looked."""

import numpy as np
import pandas as pd
import pytest

from collsim.errors import CollsimError, FormatError
from collsim.nccl import facts, predict
from collsim.nccl.fit import CLUSTER, calibrate, load_links, turned
from collsim.nccl.links import MEASURED

MACHINE = facts("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none")
SIZES = [2**k for k in range(3, 34)]


def sweep(links, noise=0.0, seed=1):
    """What nccl-tests would print on a machine with these links."""
    rng = np.random.default_rng(seed)
    times = [predict("allreduce", MACHINE, n, links=links).time * float(np.exp(noise * rng.standard_normal())) for n in SIZES]
    return pd.DataFrame({"collective": "allreduce", "nbytes": SIZES, "time": times})


def test_a_slower_cluster_is_recognised():
    """Launch 60 % longer, links at 80 %: both are found again from 31 rows with 2 % noise."""
    hidden = {"launch": 1.6, "bandwidth": 0.8}
    found = calibrate(sweep(turned(MEASURED, CLUSTER, hidden), noise=0.02), MACHINE)
    assert found.factors["bandwidth"] == pytest.approx(0.8, rel=0.05)
    assert found.factors["launch"] == pytest.approx(1.6, rel=0.15)
    assert found.error < 0.03


def test_held_out_sizes_are_within_five_percent():
    slow = turned(MEASURED, CLUSTER, {"launch": 2.0, "bandwidth": 0.7, "pipeline of Simple": 1.5})
    table = sweep(slow, noise=0.02)
    found = calibrate(table.iloc[::2], MACHINE)
    off = [abs(found.predict("allreduce", r.nbytes, extrapolate=True).time / r.time - 1) for r in table.iloc[1::2].itertuples()]
    assert np.median(off) < 0.05
    plain = [abs(predict("allreduce", MACHINE, r.nbytes).time / r.time - 1) for r in table.iloc[1::2].itertuples()]
    assert np.median(plain) > 0.2


def test_one_bad_row_does_not_spoil_the_fit():
    table = sweep(MEASURED)
    table.loc[20, "time"] *= 50
    assert calibrate(table, MACHINE).factors["bandwidth"] == pytest.approx(1.0, rel=0.05)


def test_it_refuses_to_extrapolate_silently():
    found = calibrate(sweep(MEASURED), MACHINE)
    with pytest.raises(CollsimError, match="extrapolate=True"):
        found.predict("allreduce", "32GiB")
    assert found.predict("allreduce", "32GiB", extrapolate=True).time > 0


def test_a_calibration_is_kept_in_yaml(tmp_path):
    found = calibrate(sweep(turned(MEASURED, CLUSTER, {"bandwidth": 0.8})), MACHINE)
    found.save(tmp_path / "links.yaml")
    again = predict("allreduce", MACHINE, "1GiB", links=load_links(tmp_path / "links.yaml"))
    assert again.time == pytest.approx(found.predict("allreduce", "1GiB").time, rel=1e-6)
    (tmp_path / "odd.yaml").write_text("nccl_links: 3\n")
    with pytest.raises(FormatError, match=r"odd\.yaml"):
        load_links(tmp_path / "odd.yaml")


def test_too_little_is_said_to_be_too_little():
    with pytest.raises(CollsimError, match="too few"):
        calibrate(sweep(MEASURED).head(2), MACHINE)
    with pytest.raises(CollsimError, match="time is missing"):
        calibrate(pd.DataFrame({"collective": [], "nbytes": []}), MACHINE)


def test_a_knob_that_does_not_exist_is_named():
    with pytest.raises(CollsimError, match="unknown knob"):
        turned(MEASURED, CLUSTER, {"bandwith": 1.0})
