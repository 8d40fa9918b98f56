"""Schedules on processes of this computer: right numbers, moments that can be, and what is refused."""

import numpy as np
import pytest
from threads import same_bits

import collsim as cs
from collsim.lab.launch import measure_runs
from collsim.lab.ranks.rank_process import RankOutcome

FAST = {"alpha": "1ms", "bandwidth": "50MB/s"}


@pytest.fixture(scope="module")
def ring():
    """Two runs of a ring of three, and what a message costs beside it."""
    return cs.run_for_real(cs.schedule("allreduce_ring", ranks=3), "12KiB", repeat=2, calibrate=True, **FAST)


def test_processes_move_somebody_s_data_as_replay_does():
    buffers = np.random.default_rng(3).normal(size=(3, 100)).astype("float16")
    for name, op in (("allreduce_tree", "avg"), ("alltoall_direct", "sum")):
        plan = cs.schedule(name, ranks=3)
        given = buffers[:, :99]
        found = cs.run_for_real(plan, buffers=given, op=op, **FAST)
        assert same_bits(found.out, cs.replay(plan, given, op)), name


def test_a_parameter_server_is_one_more_process_and_bfloat16_is_added_as_replay_adds_it():
    plan = cs.schedule("allreduce_parameter_server", ranks=2, server="helper")
    found = cs.run_for_real(plan, 2000, dtype="bfloat16", **FAST)
    assert plan.endpoints == 3
    assert found.measured.checked == 2 * 1000  # both ranks hold the sum
    assert found.measured.wrong == 0


def test_the_columns_are_those_of_a_trace_and_time_goes_forward(ring):
    plan = ring.schedule
    assert isinstance(ring, cs.Trace)
    assert ring.start.shape == ring.finish.shape == ring.came.shape == (len(plan),)
    assert len(ring.times) == 2
    assert (ring.start >= 0).all()
    assert (ring.came > ring.start).all()
    assert (ring.finish >= ring.came + 0.001).all()  # alpha
    assert ring.time == pytest.approx(np.sort(ring.times)[0])
    chunk = 4096 / 50e6  # no rank sends faster than the cable, whatever the computer does
    assert (ring.came - ring.start >= chunk - 1e-6).all()
    assert ring.time >= 4 * (0.001 + chunk) * (1 - 1e-9)


def test_a_transfer_begins_when_what_it_sends_has_come(ring):
    rows = ring.schedule.transfers
    for i, row in enumerate(rows):
        before = (rows["dst"] == row["src"]) & (rows["into"] == row["chunk"]) & (rows["step"] < row["step"])
        assert (ring.finish[before] <= ring.start[i]).all()


def test_whatever_reads_a_trace_reads_a_measured_one(ring, tmp_path):
    for name in ("x.html", "x.json", "x.trace.json", "x.png"):
        ring.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    assert ring.row()["engine"] == "real"
    assert list(ring.to_frame().columns) == list(ring.predicted.to_frame().columns)
    assert ring.links["bytes"].tolist() == ring.predicted.links["bytes"].tolist()
    assert ring.bottleneck.busy_share < ring.predicted.bottleneck.busy_share * 1.0001
    assert ring.predicted.time == pytest.approx(4 * (0.001 + 4096 / 50e6))


def test_the_message_is_measured_next_to_the_run(ring):
    assert ring.calibrated.alpha > 0.0005  # 1 ms was imitated
    assert ring.calibrated.bandwidth < 60e6


def test_a_late_rank_begins_late_in_both():
    plan = cs.schedule("allreduce_ring", ranks=3)
    found = cs.run_for_real(plan, "12KiB", late={1: "60ms"}, **FAST)
    mine = plan.transfers["src"] == 1
    assert found.start[mine].min() >= 0.06
    assert found.predicted.start[mine].min() == pytest.approx(0.06)


def test_nothing_paced_is_predicted_from_what_a_message_costs():
    found = cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "8KiB", alpha=None, bandwidth=None)
    cost = found.calibrated
    assert found.predicted.time == pytest.approx(2 * (cost.alpha + 4096 / cost.bandwidth))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ranks": 17}, "17 processes; 16 is the most"),
        ({"nbytes": "128MiB"}, "128.MiB is more than 64.MiB"),
        ({"nbytes": 10}, "no whole number of float32"),
        ({"nbytes": None}, "say how many bytes"),
        ({"time_limit": "2000s"}, "time_limit=2000 s"),
        ({"nbytes": "64MiB", "time_limit": "1s"}, "would take"),
        ({"repeat": 1000}, "repeat=1000"),
        ({"on": "there"}, "there"),
        ({"op": "plus"}, "plus"),
        ({"late": {9: 1}}, "9 is not a rank"),
        ({"bandwidth": "fast"}, "fast"),
        ({"dtype": "float12"}, "float12"),
    ],
)
def test_what_cannot_be_run_is_said_before_a_process_is_started(given, said, monkeypatch):
    monkeypatch.setattr("collsim.lab.real_run.measure_runs", lambda *_: pytest.fail("it was started"))
    asked = {"ranks": 4, "nbytes": "1MiB"} | given
    with pytest.raises(cs.CollsimError, match=said):
        cs.run_for_real(cs.schedule("allreduce_ring", ranks=asked.pop("ranks")), asked.pop("nbytes"), **asked)


def test_the_most_memory_counts_scratch_of_all_processes(monkeypatch):
    monkeypatch.setattr("collsim.lab.real_run.MAX_MEMORY", 16 * 2**20)
    with pytest.raises(cs.CollsimError, match=r"would hold 32.MiB"):  # alltoall has its result in slots of its own
        cs.run_for_real(cs.schedule("alltoall_direct", ranks=16), "1MiB")


def test_a_wrong_number_is_an_error_that_names_run_and_rank(monkeypatch):
    def one_bit_off(tasks, *rest):
        runs = measure_runs(tasks, *rest)
        return [
            [RankOutcome(o.moments, o.checked, o.wrong + (e == 1), o.slots) for e, o in enumerate(run)] for run in runs
        ]

    monkeypatch.setattr("collsim.lab.real_run.measure_runs", one_bit_off)
    with pytest.raises(cs.CollsimError, match="run 1 left 1 elements of rank 1 other than replay has them"):
        cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "1KiB", **FAST)


def test_what_a_rank_holds_is_compared_bit_for_bit():
    from collsim.lab.ranks.rank_process import _count_differing

    one = np.array([1.0, 0.0, np.nan], "float32")
    assert _count_differing(one, one.copy()) == 0  # a NaN too
    assert _count_differing(one, np.array([1.0, -0.0, np.nan], "float32")) == 1
    assert _count_differing(one, np.nextafter(one, 2, dtype="float32")) == 2


def test_progress_counts_the_runs():
    told = []
    cs.run_for_real(
        cs.schedule("allreduce_ring", ranks=2), "1KiB", repeat=2, progress=lambda *at: told.append(at), **FAST
    )
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("buffers", [range(10**12), [range(10**12)] * 2], ids=["one", "each"])
def test_ranges_that_no_memory_holds_are_refused_at_once(buffers):
    schedule = cs.schedule("allreduce_ring", ranks=2)
    for function in (cs.run_for_real, cs.replay):
        with pytest.raises(cs.CollsimError, match="shorter range"):
            function(schedule, buffers=buffers)
