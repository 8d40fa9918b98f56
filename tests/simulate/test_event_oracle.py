"""The event engine against an independent SimPy model."""

import numpy as np
import oracle
from event_cases import CASES, irregular, on_six, run
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(CASES),
    seed=st.integers(0, 50),
    nbytes=st.integers(0, 3_000_000),
    sharing=st.sampled_from(["none", "fair", "fifo"]),
    gamma=st.sampled_from([None, 20e9]),
    shortcuts=st.booleans(),
)
def test_every_start_and_finish_is_that_of_the_simpy_model(name, seed, nbytes, sharing, gamma, shortcuts):
    """Where an order counts (fifo, reducing) a little jitter keeps arrivals apart: the order of a tie hangs on the last
    bit."""
    s, topo = on_six(name), irregular(seed)
    jitter = 1e-6 if gamma or sharing == "fifo" else 0
    delay = np.random.default_rng(seed).exponential(jitter, len(s)) if jitter else None
    t = run(s, topo, nbytes, sharing=sharing, gamma=gamma, shortcuts=shortcuts, jitter=jitter, seed=seed)
    start, finish = oracle.simulate(s, topo, t.slot_bytes, sharing, gamma, delay)
    assert np.allclose(t.start, start, rtol=1e-9, atol=0)
    assert np.allclose(t.finish, finish, rtol=1e-9, atol=0)
