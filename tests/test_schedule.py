"""A schedule is data: what goes in comes out, what cannot be is refused with a sentence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.schedule import TRANSFER, freeze
from collsim.steps import expand_steps, pipeline_chunks, reverse, together


def build_schedule(steps, ranks=4, **more):
    return freeze("mine", "allreduce", ranks, steps, **more)


def test_arguments_are_broadcast_together():
    step = cs.copy(0, [1, 2, 3], chunk=0)
    assert len(step) == 3
    assert step.src.tolist() == [0, 0, 0]
    grid = cs.copy(np.arange(2)[:, None], 3, chunk=np.arange(2))
    assert list(zip(grid.src.tolist(), grid.chunk.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_the_table_has_a_row_per_transfer():
    s = build_schedule([cs.reduce([0, 1], [1, 0], chunk=[0, 1]), cs.copy([0, 1], [1, 0], chunk=[1, 0])], ranks=2)
    assert s.transfers.dtype == TRANSFER
    assert s.transfers.tolist() == [
        (0, 0, 1, 0, 0, True, 0),
        (0, 1, 0, 1, 1, True, 0),
        (1, 0, 1, 1, 1, False, 0),
        (1, 1, 0, 0, 0, False, 0),
    ]
    assert (len(s), s.steps, s.chunks, s.slots, s.endpoints) == (4, 2, 2, 2, 2)


def test_nothing_of_a_schedule_can_be_changed():
    s = cs.schedule("allreduce_ring", ranks=4)
    for array in (s.transfers, s.patterns[0].src, s.patterns[0].chunk):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        s.ranks = 5


def test_views_pick_rows():
    s = cs.schedule("allreduce_ring", ranks=4)
    assert (s.by_step(2)["step"] == 2).all()
    assert len(s.by_step(2)) == 4
    t = s.by_rank(1)
    assert len(t) == 2 * 6
    assert ((t["src"] == 1) | (t["dst"] == 1)).all()
    assert len(s.by_chunk(3)) == 6
    with pytest.raises(cs.ScheduleError, match=r"allreduce_ring\(4\): there is no step 6; steps are 0 to 5"):
        s.by_step(6)


def test_transfers_of_a_list_happen_at_the_same_moment():
    s = build_schedule([[cs.reduce(0, 1, 0), cs.reduce(2, 3, 0)]])
    assert s.steps == 1
    assert len(s) == 2


def test_empty_steps_are_dropped():
    assert (
        build_schedule(
            [[], cs.copy([], [], []), cs.reduce(0, 1, 0), cs.steps.repeat(cs.reduce(0, 1, 0), 0, 1, 2)]
        ).steps
        == 1
    )


def test_repeat_shifts_chunks_inside_their_group():
    step = cs.steps.repeat(cs.copy([0, 0], [1, 1], chunk=[0, 5]), times=3, shift=-1, modulus=4)
    assert [s.chunk.tolist() for s in expand_steps([step])] == [[0, 5], [3, 4], [2, 7]]


@st.composite
def patterns(draw):
    """A few repeated patterns of reduces on 4 ranks and two groups of `modulus` chunks."""
    modulus = draw(st.integers(1, 4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 5))
        row = st.lists(st.integers(0, 3), min_size=size, max_size=size)
        src, hop = np.array(draw(row)), np.array(draw(st.lists(st.integers(1, 3), min_size=size, max_size=size)))
        chunk = np.array(draw(st.lists(st.integers(0, 2 * modulus - 1), min_size=size, max_size=size)))
        step = cs.reduce(src, (src + hop) % 4, chunk, channel=chunk // modulus)
        found.append(cs.steps.repeat(step, draw(st.integers(1, 6)), draw(st.integers(-5, 5)), modulus))
    return modulus, found


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_repeated_and_written_out_steps_are_the_same_schedule(drawn):
    modulus, steps = drawn
    short = build_schedule(steps, chunks=2 * modulus)
    long = build_schedule(list(expand_steps(steps)), chunks=2 * modulus)
    assert np.array_equal(short.transfers, long.transfers)
    assert (len(short), short.steps, short.slots, short.channels) == (len(long), long.steps, long.slots, long.channels)
    assert str(short) == str(long)
    data = np.arange(4 * 2 * modulus).reshape(4, -1)
    assert np.array_equal(cs.replay(short, data), cs.replay(long, data))
    topology = cs.topology.ring(4, bandwidth=1e9, alpha=1e-6)
    a, b = (cs.simulate(s, topology, nbytes=800 * modulus) for s in (short, long))
    assert a.time == pytest.approx(b.time)
    assert np.array_equal(a.link_bytes, b.link_bytes)
    assert [verdict(s) for s in (short, long)] == [verdict(short)] * 2


def verdict(s):
    try:
        cs.verify(s)
    except cs.ScheduleError as error:
        return str(error), error.step, error.rank, error.chunk
    return None


@pytest.mark.slow
def test_a_ring_of_a_million_ranks_is_a_handful_of_rows():
    s = cs.schedule("allreduce_ring", ranks=2**20)
    assert len(s.patterns) == 2
    assert len(s) == 2 * (2**20 - 1) * 2**20
    with pytest.raises(cs.ScheduleError, match="too many for one table; each_step"):
        s.transfers  # noqa: B018
    for use in (cs.verify, lambda s: cs.replay(s, np.zeros((2**20, 1), np.int8))):
        with pytest.raises(
            cs.CollsimError,
            match=r"would take .* of memory .* replay or verify it with fewer ranks and slots",
        ):
            use(s)
    assert str(s).endswith("(1048543 more endpoints and 2097118 more steps not shown)")


def test_pipeline_sends_every_chunk_one_step_behind_the_one_before():
    rounds = [cs.copy(0, 1, 0), cs.copy(1, 2, 0), cs.copy(2, 3, 0)]
    cells = [sorted(zip(s.src.tolist(), s.chunk.tolist(), strict=True)) for s in pipeline_chunks(rounds, 2)]
    assert cells == [[(0, 0)], [(0, 1), (1, 0)], [(1, 1), (2, 0)], [(2, 1)]]
    assert list(pipeline_chunks([], 5)) == []


def test_reverse_makes_a_reduce_of_a_broadcast():
    steps = cs.schedule("broadcast_binomial", ranks=11, root=3).each_step()
    cs.verify(freeze("mine", "reduce", 11, reverse(steps), root=3))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_reverse_keeps_repeated_patterns(n):
    steps = list(reverse(cs.schedule("allgather_ring", ranks=n).patterns))
    assert len(steps) <= 1
    cs.verify(freeze("mine", "reduce_scatter", n, steps, chunks=n))


def test_together_lets_sequences_run_side_by_side():
    a = [cs.copy(0, 1, 0), cs.copy(1, 2, 0)]
    b = [cs.copy(3, 2, 1)]
    assert [len(s) for s in together(a, b)] == [2, 1]


def test_placed_runs_a_pattern_in_several_places():
    step = cs.copy(0, 1, chunk=[0, 1])
    both = step.map_to([[0, 1], [2, 3]], [[0, 1], [2, 3]], channel=[0, 1])
    rows = list(zip(both.src.tolist(), both.dst.tolist(), both.chunk.tolist(), both.channel.tolist(), strict=True))
    assert rows == [
        (0, 1, 0, 0),
        (0, 1, 1, 0),
        (0, 1, 2, 0),
        (0, 1, 3, 0),
        (2, 3, 0, 1),
        (2, 3, 1, 1),
        (2, 3, 2, 1),
        (2, 3, 3, 1),
    ]  # chunk c stands for chunks 2c and 2c+1


def test_composition_wants_the_same_ranks():
    with pytest.raises(cs.ScheduleError, match="ranks 4 and 5 differ"):
        cs.schedule("reduce_scatter_ring", 4) + cs.schedule("allgather_ring", 5)
    with pytest.raises(cs.ScheduleError, match="root 1 and 2 differ"):
        cs.schedule("reduce_flat", 4, root=1) + cs.schedule("broadcast_flat", 4, root=2)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (
            [cs.copy(0, 4, 0)],
            r"mine\(4\), step 1: copy of chunk 0 from rank 0 to .*: dst=4 does not exist; ranks are 0 to 3",
        ),
        ([cs.copy(0, -1, 0)], r"dst=-1 does not exist; ranks are 0 to 3"),
        ([cs.copy(0, 1, 0), cs.copy(0, 1, -2)], r"step 2: .*chunk=-2 does not exist; slots are 0 to"),
        ([cs.copy(2, 2, 1)], r"copy of chunk 1 from rank 2 to rank 2: an endpoint sends a chunk to itself"),
        ([[cs.copy(0, 2, 0), cs.copy(1, 2, 0)]], r"from rank 1 to rank 2: rank 0 writes the same slot in this step"),
        (
            [[cs.reduce(0, 2, 0), cs.copy(1, 2, 0)]],
            r"writes the same slot in this step; which of them lasts is undefined",
        ),
        ([cs.copy(0, 1, 0, channel=-1)], r"there is no channel -1; channels are 0 to 32767"),
        ([cs.copy(0, 1, 0, channel=2**15)], r"there is no channel 32768; channels are 0 to 32767"),
        ([5], r"mine\(4\) yields 5; a step is made with copy"),
        (["copy"], r"yields 'copy'; a step is made with copy"),
        ([(0, 1, 0)], r"yields 0; a step is made with copy"),
        ([None], r"yields None; a step is made with copy"),
        ([[cs.steps.repeat(cs.copy(0, 1, 0), 2, 1, 2), cs.copy(0, 2, 0)]], r"a repeated step cannot be joined"),
    ],
)
def test_steps_that_cannot_be_are_refused_with_a_sentence(steps, says):
    with pytest.raises(cs.ScheduleError, match=says):
        build_schedule(steps)


def test_of_many_short_steps_the_first_wrong_one_is_named():
    right = [cs.copy(rank, rank + 1, 0) for rank in (0, 1, 2, 0, 1, 2)]  # the same slots again, in other steps
    twice = [cs.copy(0, 3, 0), cs.copy(1, 3, 0)]
    assert build_schedule(right).steps == 6
    with pytest.raises(cs.ScheduleError, match=r"step 5: .*from rank 1 to rank 3: rank 0 writes the same slot"):
        build_schedule([*right[:4], twice, *right, cs.copy(0, 9, 0)])
    with pytest.raises(cs.ScheduleError, match=r"step 11: copy of chunk 0 from rank 0 to .*: dst=9 does not exist"):
        build_schedule([*right[:4], *right, cs.copy(0, 9, 0), twice])


def test_a_repeated_pattern_stays_inside_the_slots():
    for pattern, name in (
        (cs.steps.repeat(cs.copy(0, 1, 3), 2, 1, 3), "chunk"),
        (cs.steps.repeat(cs.copy(0, 1, 0, into=3), 2, -1, 3), "into"),
    ):
        assert build_schedule([pattern]).slots == 6
        says = rf"step 1: copy of chunk . from rank 0 to rank 1.*: in its repetitions {name} reaches slots 3 to 5 \(modulus=3\)"
        with pytest.raises(cs.ScheduleError, match=says):
            build_schedule([pattern], chunks=4, slots=4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"ranks": 0}, "ranks=0 is too small; ranks is at least 1"),
        ({"ranks": 1.5}, "ranks=1.5 is not a whole number"),
        ({"ranks": 10**30}, "is too large"),
        ({"ranks": 2**40}, "would take .* of memory"),
        ({"helpers": -1}, "helpers=-1 is too small"),
        ({"helpers": 2**40}, "would take .* of memory"),
        ({"chunks": 0}, "chunks=0 is too small"),
        ({"chunks": "host"}, "chunks='?host'? is"),
        ({"slots": 1, "chunks": 2}, "slots=1 is too small; slots is at least 2"),
        ({"block": 0}, "block=0 is too small"),
        ({"root": 4}, "root=4 is not a rank; with 4 ranks it is 0 to 3"),
        ({"root": -1}, "root=-1 is too small"),
        ({"helpers_on": "nic"}, "unknown helpers_on 'nic'"),
        ({"options": 5}, "options=5 must be a dict"),
        ({"options": ["root"]}, "must be a dict"),
    ],
)
def test_arguments_that_cannot_be_are_refused_with_a_sentence(arguments, says):
    with pytest.raises(cs.CollsimError, match=says):
        freeze(**{"name": "mine", "collective": "allreduce", "ranks": 4, "steps": [cs.copy(0, 1, 0)]} | arguments)


def test_chunks_that_make_no_equal_blocks_are_refused_where_blocks_are_asked_for():
    for collective in ("allgather", "alltoall"):
        with pytest.raises(cs.CollsimError, match="3 chunks do not make 2 blocks; use a multiple"):
            cs.verify(freeze("mine", collective, 2, [], chunks=3))


def test_two_reduces_into_one_slot_are_fine():
    assert len(build_schedule([cs.reduce([1, 2, 3], 0, 0)])) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0, 1, 0.5), r"chunk must be whole numbers, got .*0\.5.*use // instead of /"),
        ((0, 1, 4 / 2), r"chunk must be whole numbers"),
        (("a", 1, 0), r"src must be whole numbers"),
        ((0, None, 0), r"dst must be whole numbers"),
        (([0, 1], [1, 2, 3], 0), r"the arrays of one step differ in length: src \(2,\), dst \(3,\)"),
        ((0, 1, 2**40), r"beyond any rank or chunk"),
        ((0, True, 0), r"dst must be whole numbers"),
    ],
)
def test_arguments_that_are_no_numbers_are_refused(arguments, says):
    with pytest.raises(cs.ScheduleError, match=says):
        cs.copy(*arguments)


def test_repeat_wants_sensible_counts():
    with pytest.raises(cs.ScheduleError, match="times is 0 or more"):
        cs.steps.repeat(cs.copy(0, 1, 0), -1, 1, 2)
    with pytest.raises(cs.ScheduleError, match="modulus 1 or more"):
        cs.steps.repeat(cs.copy(0, 1, 0), 1, 1, 0)
    for shift, modulus in ((2**31, 4), (-(2**40), 4), (1, 2**31), (1, 10**30)):
        with pytest.raises(cs.ScheduleError, match="no chunk moves by"):
            cs.steps.repeat(cs.copy(0, 1, 0), 2, shift, modulus)
    with pytest.raises(cs.ScheduleError, match="cannot be repeated again"):
        cs.steps.repeat(cs.steps.repeat(cs.copy(0, 1, 0), 3, 1, 2), 2, 1, 2)


def test_an_endless_loop_is_stopped_and_said():
    def endless():
        while True:
            yield cs.reduce(0, 1, 0)

    with pytest.raises(cs.ScheduleError, match=r"more than 50,000 steps and has not ended; does a loop never stop\?"):
        build_schedule(endless())


def test_an_endless_loop_of_nothing_is_stopped_too():
    def endless():
        while True:
            yield []

    with pytest.raises(cs.ScheduleError, match="does a loop never stop"):
        build_schedule(endless())


def test_helpers_have_names_of_their_own():
    s = cs.schedule("allreduce_parameter_server", ranks=2, server="helper")
    assert s.name_endpoint(1) == "rank 1"
    assert s.name_endpoint(2) == "helper 0"
    assert "helper 0" in str(s)


def test_a_schedule_says_what_its_helpers_are():
    assert cs.schedule("allreduce_parameter_server", ranks=2, server="helper").helpers_on == "host"
    assert cs.schedule("allreduce_sharp", ranks=2).helpers_on == "fabric"
    both = cs.schedule("reduce_scatter_nvls", ranks=4) + cs.schedule("allgather_ring", ranks=4)
    assert (both.helpers_on, both.endpoints) == ("nvswitch", 5)
    cs.verify(both)


# ---- ranges of chunks
# --------------------------------------------------------------------------------------------------------


def test_a_row_with_a_width_stands_for_a_range_of_chunks():
    wide = build_schedule([cs.copy([0, 1], [2, 3], chunk=[0, 3], width=3)])
    assert len(wide.patterns[0]) == 2
    assert len(wide) == wide.patterns[0].transfers == 6
    assert wide.chunks == wide.slots == 6
    assert wide.transfers["src"].tolist() == [0, 0, 0, 1, 1, 1]
    assert wide.transfers["chunk"].tolist() == wide.transfers["into"].tolist() == [0, 1, 2, 3, 4, 5]
    elsewhere = build_schedule([cs.reduce(0, 1, chunk=1, into=4, channel=2, width=2)])
    assert elsewhere.transfers.tolist() == [(0, 0, 1, 1, 4, True, 2), (0, 0, 1, 2, 5, True, 2)]


def written_out(step):
    return cs.copy(
        np.repeat(step.src, step.width),
        np.repeat(step.dst, step.width),
        (step.chunk[:, None] + np.arange(step.width)).ravel(),
    )


def test_everything_that_takes_steps_takes_ranges():
    wide = cs.copy([0, 1], [2, 3], chunk=[0, 2], width=2)
    plain = written_out(wide)
    for way in (
        lambda step: [step, step + cs.copy(2, 0, chunk=0)],
        lambda step: [[step, cs.reduce(3, 1, chunk=[5, 6])]],
        lambda step: [cs.steps.repeat(step, times=3, shift=1, modulus=4)],
        lambda step: list(reverse([step])),
        lambda step: list(together([step], [cs.copy(3, 0, chunk=3)])),
        lambda step: list(pipeline_chunks([step], chunks=3, stride=4)),
        lambda step: list(expand_steps([step])),
        lambda step: [step.map_to([3, 2, 1, 0], [4, 5, 6, 7])],
    ):
        assert (build_schedule(way(wide)).transfers == build_schedule(way(plain)).transfers).all()
        assert len(build_schedule(way(wide))) == len(build_schedule(way(plain)))
    assert (wide + wide).width == 2
    assert (wide + cs.copy(2, 0, chunk=0)).width == 1


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (lambda: [cs.copy(0, 1, chunk=0, width=2.5)], r"width=2\.5: one whole number"),
        (lambda: [cs.copy(0, 1, chunk=0, width=0)], "1 or more"),
        (lambda: [cs.copy(0, 1, chunk=0, width=True)], "one whole number"),
        (lambda: [cs.copy(0, 1, chunk=[2**31 - 2], width=3)], "beyond any chunk"),
        (lambda: [cs.copy(0, 1, chunk=6, width=3)], r"chunk=6 and the 2 after it does not exist; slots are 0 to 7"),
        (
            lambda: [cs.copy([0, 2], 1, chunk=[0, 1], width=2)],
            r"step 1: copy of chunks 1 to 2 from rank 2 .* rank 0 writes the same slot",
        ),
        (lambda: [[cs.reduce(0, 1, chunk=0, width=4), cs.copy(2, 1, chunk=3)]], "writes the same slot"),
        (lambda: [cs.copy(1, 1, chunk=0, width=4)], "sends a chunk to itself"),
        (lambda: [replace(cs.copy(0, 1, chunk=0, width=2), times=2)], "do not repeat"),
    ],
)
def test_a_range_that_cannot_be_is_refused(steps, says):
    with pytest.raises(cs.ScheduleError, match=says):
        build_schedule(steps(), chunks=8, slots=8)


def test_ranges_side_by_side_do_not_meet():
    """Slots 0-1 and 2-3 of rank 1, and 0-3 of another rank: no slot twice."""
    assert len(build_schedule([cs.copy([0, 2, 0], [1, 1, 3], chunk=[0, 2, 0], width=2)])) == 6
    assert len(build_schedule([cs.reduce([0, 2], 1, chunk=[0, 1], width=2)])) == 4  # adding may meet


def test_a_step_too_long_to_write_out_says_so():
    """2^20 ranks in ranges of 2^19 chunks: 5 × 10^11 transfers in the first step. It can be timed, but not printed."""
    s = cs.schedule("allreduce_halving_doubling", ranks=2**20)
    assert (len(s), s.steps) == (2 * 2**20 * (2**20 - 1), 40)
    with pytest.raises(
        cs.ScheduleError, match="549,755,813,888 transfers, in ranges of 524,288 chunks, is too long to be written out"
    ):
        next(s.each_step())


def test_ranges_survive_json(tmp_path):
    s = cs.schedule("allreduce_halving_doubling", ranks=6)
    cs.save(s, tmp_path / "ranges.json")
    again = cs.load(tmp_path / "ranges.json")
    assert [p.width for p in again.patterns] == [p.width for p in s.patterns] == [2, 2, 2, 1, 1, 2, 4]
    assert (again.transfers == s.transfers).all()


def test_schedules_with_the_same_transfers_are_equal():
    ring, again = cs.schedule("allreduce_ring", ranks=6), cs.schedule("allreduce_ring", ranks=6)
    assert ring == again
    assert hash(ring) == hash(again)
    assert len({ring, again}) == 1
    assert ring != cs.schedule("allreduce_ring", ranks=5)
    assert ring != cs.schedule("allreduce_ring", ranks=6, channels=2)
    broken = replace(ring, patterns=(*list(ring.each_step())[:-1], cs.copy(0, 1, chunk=0)))
    assert ring != broken
    assert ring != "allreduce_ring(6)"


def test_a_repeated_pattern_equals_the_same_steps_written_out():
    ring = cs.schedule("allreduce_ring", ranks=4)
    written = replace(ring, patterns=tuple(ring.each_step()))
    assert len(written.patterns) > len(ring.patterns)
    assert written == ring
    assert hash(written) == hash(ring)


def test_a_schedule_is_a_sequence_of_its_transfers():
    ring = cs.schedule("allreduce_ring", ranks=4)
    assert len(list(ring)) == len(ring) == 24
    assert ring[0]["src"] == 0
    assert [int(t["step"]) for t in ring[-4:]] == [5, 5, 5, 5]
    assert list(ring.to_frame().columns) == list(TRANSFER.names)
    assert ring.to_frame()["reduce"].sum() == 12  # three steps of four transfers add
    for wrong in (24, "what", 1.5):
        with pytest.raises(cs.ScheduleError, match="24 transfers"):
            ring[wrong]
