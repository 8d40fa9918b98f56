"""What is predicted to be clearly faster is faster on processes, where messages decide and where bytes do."""

import pytest
from sampling import sample

import collsim as cs

NAMES = ("allreduce_recursive_doubling", "allreduce_ring", "allreduce_data_parallel")
CLEARLY = 1.5  # times as long: a busy computer adds less than that to the best of three


@pytest.mark.parametrize(
    ("nbytes", "slowest"),
    # 4 ranks at 10 MB/s and 10 ms: 6 messages around the ring; three buffers into rank 0 and three out of it
    sample([("16KiB", "allreduce_ring"), ("512KiB", "allreduce_data_parallel")], 1),
)
def test_the_order_of_algorithms_is_the_predicted_one(nbytes, slowest):
    runs = {name: cs.run_for_real(cs.schedule(name, ranks=4), nbytes, repeat=3) for name in NAMES}
    predicted = {name: run.predicted.time for name, run in runs.items()}
    assert max(predicted, key=predicted.get) == slowest
    apart = [(a, b) for a in NAMES for b in NAMES if predicted[b] > CLEARLY * predicted[a]]
    assert len(apart) == 2
    assert {pair for pair in apart if runs[pair[0]].best >= runs[pair[1]].best} == set()
    assert all(run.best >= 0.97 * run.predicted.time for run in runs.values())  # nobody beats the network
