"""MSCCL XML: what is read does what the file does; what is written does what the schedule does; what is wrong is
named."""

import itertools
import os
import warnings
from pathlib import Path

import msccl_interpreter
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import cross, sample

import collsim as cs
from collsim.io import read_msccl, write_msccl
from collsim.io.msccl.interpreter import COLLECTIVES
from collsim.io.msccl.msccl_program import parse
from collsim.schedule import freeze
from collsim.steps import Step, copy, reduce

DATA = Path(os.environ.get("COLLSIM_DATA", Path(__file__).parents[3] / "shared" / "data"))
PUBLISHED = sorted((DATA / "msccl-xml").glob("*.xml"))


def step(s, kind, src="i0", dst="i0", cnt=1, waits=(-1, -1), signals=1):
    return (
        f'<step s="{s}" type="{kind}" srcbuf="{src[0]}" srcoff="{src[1:]}" dstbuf="{dst[0]}" dstoff="{dst[1:]}" '
        f'cnt="{cnt}" '
        f'depid="{waits[0]}" deps="{waits[1]}" hasdep="{signals}"/>'
    )


def tb(number, send, recv, *steps, chan=0):
    return f'<tb id="{number}" send="{send}" recv="{recv}" chan="{chan}">{"".join(steps)}</tb>'


def algo(tmp_path, *gpus, coll="allreduce", chunks=1, inplace=1, sizes="4 4 4", more=""):
    i, o, s = sizes.split()
    body = "".join(
        f'<gpu id="{g}" i_chunks="{i}" o_chunks="{o}" s_chunks="{s}">{"".join(tbs)}</gpu>' for g, tbs in enumerate(gpus)
    )
    path = tmp_path / "a.xml"
    head = (
        f'name="a" proto="LL" nchannels="1" nchunksperloop="{chunks}" ngpus="{len(gpus)}" coll="{coll}" '
        f'inplace="{inplace}" {more}'
    )
    path.write_text(f"<algo {head}>{body}</algo>")
    return path


def exchange(tmp_path, **changes):
    """Two gpus: the second adds and sends back. `changes` replace a thread block of gpu 0 (`a`) or gpu 1 (`b`)."""
    a = changes.pop("a", tb(0, 1, 1, step(0, "s"), step(1, "r")))
    b = changes.pop("b", tb(0, 0, 0, step(0, "rrcs")))
    return algo(tmp_path, [a], [b], **changes)


def refused(path, *words, **options):
    with pytest.raises(cs.FormatError) as caught:
        read_msccl(path, **options)
    text = str(caught.value)
    for word in ("a.xml", *words):
        assert word in text, text
    return text


def agrees(path, schedule=None, seed=0):
    """The interpreter of the tests, replay of what is read, and numpy say the same."""
    read = read_msccl(path)
    cs.verify(read)
    data = np.random.default_rng(seed).integers(-1000, 1000, (read.ranks, read.chunks))
    ran = msccl_interpreter.run(path, data, seed)
    want = msccl_interpreter.expected(read.collective, data, read.root)
    assert {key: ran.get(key) for key in want} == want
    if read.collective in ("allreduce", "broadcast", "allgather", "alltoall"):
        out = cs.replay(read, data)
        assert all(out[g, c] == value for (g, c), value in want.items())
    if schedule is not None:
        assert (cs.replay(schedule, data) == cs.replay(read, data)).all() or read.collective in (
            "reduce",
            "reduce_scatter",
            "gather",
        )
    return read


# ---- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not PUBLISHED, reason=f"no published MSCCL files in {DATA}; set COLLSIM_DATA")
@pytest.mark.parametrize("path", sample(PUBLISHED, 1), ids=lambda p: p.stem)
def test_published_files_verify_simulate_and_agree_with_a_second_interpreter(path, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule = agrees(path)
    steps = cs.simulate(schedule, cs.topology.switch(schedule.ranks), "1MiB")
    events = cs.simulate(schedule, cs.topology.switch(schedule.ranks), "1MiB", engine="event")
    assert steps.time * (1 + 1e-9) >= events.time >= events.bound.time > 0
    write_msccl(schedule, tmp_path / "again.xml")
    again = agrees(tmp_path / "again.xml", schedule)
    assert len(again) == len(schedule)
    assert again.options["protocol"] == schedule.options["protocol"]


def test_a_ring_of_three_is_four_steps(tmp_path):
    """MSCCL's fused ring: s, rrs, rrcs, rcs, r on every gpu; NCCL counts 2n - 1 primitives, there are 2(n - 1)
    messages."""

    def ring(g):
        c = [(g - k) % 3 for k in range(3)]
        kinds = [("s", c[0]), ("rrs", c[1]), ("rrcs", c[2]), ("rcs", c[0]), ("r", c[1])]
        return [
            tb(0, (g + 1) % 3, (g - 1) % 3, *(step(s, kind, f"i{x}", f"i{x}") for s, (kind, x) in enumerate(kinds)))
        ]

    path = algo(tmp_path, *(ring(g) for g in range(3)), chunks=3, sizes="3 0 0")
    schedule = agrees(path)
    assert schedule.steps == 4
    assert len(schedule) == 4 * 3
    assert schedule.slots == 3  # rrs adds in place: nobody reads that chunk before it is overwritten


def test_an_rrs_whose_source_is_still_needed_adds_in_another_slot(tmp_path):
    """Gpu 1 passes on the sum but keeps its own chunk; its output is what comes back."""
    a = [tb(0, 1, 1, step(0, "s"), step(1, "r", dst="o0"))]
    b = [
        tb(0, 0, 0, step(0, "rrs"), step(1, "re", "s0", "i0", waits=(1, 0))),
        tb(1, -1, -1, step(0, "cpy", "i0", "s0")),
    ]
    path = algo(tmp_path, a, b)
    text = refused(path, "wrong result", "gpu 1", "thread block 0, step 1", "2·r1[chunk 0]")
    assert "every gpu" in text
    b = [tb(0, 0, 0, step(0, "rrs"), step(1, "r", dst="s0"), step(2, "re", "s0", "i0"))]
    a = [tb(0, 1, 1, step(0, "s"), step(1, "s"), step(2, "r"))]
    read = agrees(algo(tmp_path, a, b))
    assert read.slots == 1 + 1 + 1  # the buffer, scratch, the sum in flight


def test_out_of_place_input_and_output_become_one_where_they_can(tmp_path):
    a = tb(0, 1, 1, step(0, "s"), step(1, "r", dst="o0"))
    b = tb(0, 0, 0, step(0, "rrcs", "i0", "o0"))
    assert agrees(exchange(tmp_path, a=a, b=b, inplace=0, sizes="1 1 0")).slots == 1


def test_out_of_place_input_that_is_read_after_its_output_is_written_is_kept_separate(tmp_path):
    """Both copy what they received into the output first and add their own input after it."""
    blocks = (tb(0, p, p, step(0, "s"), step(1, "r", dst="o0"), step(2, "re", "i0", "o0")) for p in (1, 0))
    read = agrees(algo(tmp_path, *([b] for b in blocks), inplace=0, sizes="1 1 0"))
    assert read.slots > 1


def test_a_message_that_is_overwritten_before_it_is_taken_goes_through_a_mailbox(tmp_path):
    """Gpu 0 sends scratch twice with a change in between; gpu 1 takes the second message first."""
    a = [
        tb(0, 1, -1, step(0, "cpy", "i0", "s0"), step(1, "s", "s0"), chan=0),
        tb(1, 1, -1, step(0, "cpy", "i1", "s0", waits=(0, 1)), step(1, "s", "s0"), chan=1),
    ]
    b = [tb(0, -1, 0, step(0, "r", dst="i1"), chan=1), tb(1, -1, 0, step(0, "r", dst="i0", waits=(0, 0)), chan=0)]
    read = agrees(algo(tmp_path, a, b, coll="broadcast", chunks=2))
    assert read.slots > 2 + 1  # the buffer, scratch, and mailboxes


def test_a_broadcast_whose_root_spoils_its_own_chunk_is_wrong(tmp_path):
    a = [tb(0, 1, -1, step(0, "s", cnt=2), step(1, "cpy", "i1", "i0"))]
    b = [tb(0, -1, 0, step(0, "r", cnt=2))]
    refused(
        algo(tmp_path, a, b, coll="broadcast", chunks=2),
        "wrong result",
        "gpu 0, thread block 0, step 1",
        "r0[chunk 1]",
        root=0,
    )


def test_a_root_that_the_file_does_not_name_is_found(tmp_path):
    path = algo(tmp_path, [tb(0, -1, 1, step(0, "r"))], [tb(0, 0, -1, step(0, "s"))], coll="broadcast")
    assert read_msccl(path).root == 1
    refused(path, "undefined read", "gpu 1, thread block 0, step 0", root=0)


def test_several_dependencies_and_counts(tmp_path):
    """nop carries a second dependency; one message holds two chunks."""
    a = [
        tb(0, 1, -1, step(0, "s", "i0", cnt=2)),
        tb(1, -1, 1, step(0, "r", dst="s0", cnt=2)),
        tb(2, -1, -1, step(0, "nop", "i-1", "o-1", 0, (0, 0)), step(1, "re", "s0", "i0", 2, (1, 0))),
    ]
    b = [s.replace('send="1"', 'send="0"').replace('recv="1"', 'recv="0"') for s in a]
    read = agrees(algo(tmp_path, a, b, chunks=2))
    assert read.steps == 2


def test_custom_needs_to_be_told_its_collective(tmp_path):
    path = exchange(tmp_path, coll="custom")
    refused(path, "custom", "collective=")
    assert read_msccl(path, collective="allreduce").collective == "allreduce"


def test_attributes_may_be_missing_or_in_any_order(tmp_path):
    path = exchange(tmp_path)
    text = path.read_text().replace(' inplace="1"', "").replace(' proto="LL"', "").replace(' nchannels="1"', "")
    path.write_text(
        text.replace('<algo name="a"', '<!-- licence --><algo inplace="1" minBytes="0" maxcount="1" name="a"')
    )
    assert len(read_msccl(path)) == 2


def test_a_wait_for_a_step_that_does_not_signal_is_a_warning(tmp_path):
    a = [tb(0, 1, -1, step(0, "s", signals=0)), tb(1, -1, 1, step(0, "r", waits=(0, 0)))]
    with pytest.warns(
        UserWarning, match="gpu 0, thread block 1, step 0 waits for step 0 of thread block 0, which never signals"
    ):
        read_msccl(algo(tmp_path, a, [tb(0, 0, 0, step(0, "rrcs"))]))


def test_thread_blocks_of_one_channel_do_not_wait_for_each_other(tmp_path):
    """Gpu 0 sends from two thread blocks; the second has received before, and waits for that alone."""
    a = [tb(0, 1, -1, step(0, "s")), tb(1, 2, 1, step(0, "r"), step(1, "s"))]
    b = [tb(0, 0, 0, step(0, "rcs"))]
    c = [tb(0, -1, 0, step(0, "r"))]
    read = read_msccl(algo(tmp_path, a, b, c, coll="broadcast", sizes="1 1 1"), root=0)
    assert read.steps == 3
    start, row = read.depends
    assert [row[x:y].tolist() for x, y in itertools.pairwise(start)] == [[], [0], [1]]


def test_a_result_that_depends_on_which_thread_block_is_faster_is_a_warning(tmp_path):
    """Gpu 1 sends its chunk from one thread block and overwrites it from another, which does not wait for that."""
    a = [tb(0, 1, 1, step(0, "s"), step(1, "rrc"))]
    b = [tb(0, 0, -1, step(0, "s")), tb(1, -1, 0, step(0, "rrc"))]
    with pytest.warns(
        UserWarning, match="a race: .* in another order, a.xml, gpu 0, thread block 0, step 1: wrong result"
    ):
        cs.verify(read_msccl(algo(tmp_path, a, b)))
    b[1] = tb(1, -1, 0, step(0, "rrc", waits=(0, 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_msccl(algo(tmp_path, a, b))


# ---- what is wrong is named ----------------------------------------------------------------------------------------


def test_a_deadlock_names_its_circle(tmp_path):
    a = tb(0, 1, 1, step(0, "r"), step(1, "s"))
    b = tb(0, 0, 0, step(0, "r"), step(1, "s"))
    text = refused(
        exchange(tmp_path, a=a, b=b),
        "deadlock",
        "gpu 0, thread block 0, step 0 (r)",
        "gpu 1, thread block 0, step 0 (r)",
    )
    assert text.count("waits") == 2


def test_thread_blocks_that_wait_for_each_other_are_a_deadlock(tmp_path):
    a = tb(0, 1, -1, step(0, "s", waits=(1, 0))) + tb(1, -1, 1, step(0, "r", waits=(0, 0)))
    refused(
        exchange(tmp_path, a=a), "deadlock", "waits for step 0 of thread block 1", "waits for step 0 of thread block 0"
    )


def test_a_send_that_nobody_receives_is_named(tmp_path):
    a = tb(0, 1, 1, step(0, "s"), step(1, "r"), step(2, "s"))
    refused(exchange(tmp_path, a=a), "unmatched send", "gpu 0, thread block 0, step 2", "gpu 1")


def test_a_receive_that_nobody_serves_is_named(tmp_path):
    b = tb(0, 0, 0, step(0, "rrcs"), step(1, "r"))
    refused(exchange(tmp_path, b=b), "unmatched receive", "gpu 1, thread block 0, step 1", "gpu 0")


def test_messages_of_different_sizes_are_named(tmp_path):
    a = tb(0, 1, 1, step(0, "s", cnt=2), step(1, "r"))
    refused(
        exchange(tmp_path, a=a, chunks=2),
        "gpu 1, thread block 0, step 0",
        "receives 1 chunks, but gpu 0, thread block 0, step 0 sends 2",
    )


def test_a_read_of_nothing_is_named(tmp_path):
    a = tb(0, 1, 1, step(0, "s", "s1"), step(1, "r"))
    refused(exchange(tmp_path, a=a), "undefined read", "gpu 0, thread block 0, step 0", "chunk 1 of the scratch buffer")


def test_a_result_that_is_there_twice_is_wrong(tmp_path):
    b = tb(0, 0, 0, step(0, "rrc"), step(1, "re", "i0", "i0"), step(2, "s"))
    refused(
        exchange(tmp_path, b=b),
        "wrong result",
        "2·r0[chunk 0] + 2·r1[chunk 0]",
        "allreduce wants chunk 0 of every gpu, added",
    )


def test_a_result_that_is_missing_is_wrong(tmp_path):
    path = exchange(tmp_path, a=tb(0, 1, -1, step(0, "s")), b=tb(0, -1, 0, step(0, "rrc")))
    refused(path, "wrong result", "gpu 0", "r0[chunk 0]", "no step writes it")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<algo ", "<topology ", ["expected <algo>"]),
        ('ngpus="2"', 'ngpus="3"', ["no <gpu id=2>"]),
        ('ngpus="2"', 'ngpus="0"', ["ngpus=0", "1 to"]),
        ('ngpus="2"', 'ngpus="99999999999"', ["ngpus=99999999999", "out of range"]),
        ('nchunksperloop="1"', 'nchunksperloop="2000000000"', ["chunks in all"]),
        ('nchunksperloop="1"', 'nchunksperloop="-1"', ["nchunksperloop=-1"]),
        ('nchunksperloop="1"', 'nchunksperloop="nan"', ["nchunksperloop='nan' is not a whole number"]),
        ('coll="allreduce"', "", ["no attribute 'coll'"]),
        ('coll="allreduce"', 'coll="allreduse"', ["coll='allreduse'"]),
        ('<gpu id="1"', '<gpu id="0"', ["gpu 0", "a second gpu"]),
        ('send="1"', 'send="7"', ["gpu 0, thread block 0", "send=7"]),
        ('send="1"', 'send="0"', ["its peer is its own gpu"]),
        ('send="1"', 'send="-1"', ["a s sends, but"]),
        ('type="rrcs"', 'type="xyz"', ["gpu 1, thread block 0, step 0", "type 'xyz' is unknown"]),
        ('type="rrcs"', "", ["type '' is unknown"]),
        ('<step s="1"', '<step s="2"', ["expected s=1"]),
        ('cnt="1"', 'cnt="0"', ["cnt=0"]),
        ('srcbuf="i"', 'srcbuf="q"', ["srcbuf='q'"]),
        ('srcoff="0"', 'srcoff="-1"', ["srcoff=-1"]),
        ('srcoff="0"', 'srcoff="9"', ["srcoff=9", "input buffer, which has 4 chunks"]),
        ('depid="-1" deps="-1"', 'depid="5" deps="0"', ["waits for step 0 of thread block 5, which does not exist"]),
        ('depid="-1" deps="-1"', 'depid="0" deps="-1"', ["depid=0 and deps=-1"]),
        ('chan="0"', 'chan="٣"', ["chan='٣' is not a whole number"]),
    ],
)
def test_a_malformed_program_is_refused_with_its_place(tmp_path, old, new, words):
    path = exchange(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if old != "<algo " else text.replace("algo", "topology"))
    refused(path, *words)


def test_a_connection_has_one_thread_block(tmp_path):
    a = tb(0, 1, 1, step(0, "s"), step(1, "r")) + tb(1, 1, -1, step(0, "s"))
    refused(exchange(tmp_path, a=a), "gpu 0, thread block 1", "send=1 on channel 0 is already that of thread block 0")


def test_a_sum_that_doubles_without_end_is_named_in_bounded_time(tmp_path):
    """15,000 doublings: an exact count would have 4,516 digits."""
    a = tb(0, -1, -1, *(step(s, "re") for s in range(15_000)))
    refused(algo(tmp_path, [a]), "wrong result", ">2^63·r0[chunk 0]", "step 14999")


@pytest.mark.parametrize("exponent", [1, 31, 52, 62, 63, 64, 65, 128])
def test_a_power_of_two_too_many_is_wrong_and_said(tmp_path, exponent):
    """Modulo 2^64 the sum that gpu 1 sends back would be right from 64 doublings on."""
    keep = [step(0, "r", "i0", "s1"), step(1, "cpy", "i0", "s0")]
    doublings = [step(2 + k, "re", "s0", "s0") for k in range(exponent)]
    last = 2 + exponent
    result = [step(last, "re", "s1", "i0"), step(last + 1, "re", "s0", "i0"), step(last + 2, "s")]
    a, b = tb(0, 1, 1, step(0, "s"), step(1, "r")), tb(0, 0, 0, *keep, *doublings, *result)
    times = ">2^63" if exponent >= 63 else 1 + 2**exponent
    refused(exchange(tmp_path, a=a, b=b), "wrong result", f"r0[chunk 0] + {times}·r1[chunk 0]")


def test_waits_that_multiply_are_refused(tmp_path):
    """Every nop stands for all that the nops before it wait for: 6,000 of them are 18 million waits."""
    a = tb(0, -1, -1, *(step(s, "cpy", "i0", "s0") for s in range(6_000)))
    b = tb(1, -1, -1, *(step(s, "nop", cnt=0, waits=(0, s)) for s in range(6_000)))
    refused(algo(tmp_path, [a, b]), "more than 10,000,000 dependencies")


def test_the_runtimes_limits_are_kept_on_request(tmp_path):
    a = tb(0, 1, 1, step(0, "s"), *(step(s, "nop", cnt=0) for s in range(1, 300)), step(300, "r"))
    path = exchange(tmp_path, a=a)
    assert len(read_msccl(path)) == 2
    refused(path, "301 steps; the runtime takes 256", strict=True)


# ---- writing
# --------------------------------------------------------------------------------------------------------------------

ABLE = {name: a for name, a in cs.algorithms().items() if a.collective in COLLECTIVES}


@pytest.mark.parametrize(("name", "inplace"), cross(sorted(ABLE), [True, False]))
def test_every_algorithm_without_helpers_comes_back_the_same(name, inplace, tmp_path):
    written = 0
    for n in (1, 2, 3, 4, 6, 8):
        try:
            schedule = ABLE[name](n)
        except cs.CollsimError:
            continue
        path = tmp_path / f"{n}.xml"
        if schedule.endpoints > schedule.ranks:
            with pytest.raises(cs.ScheduleError, match="helper"):
                write_msccl(schedule, path)
            assert not path.exists()
            continue
        write_msccl(schedule, path, inplace=inplace)
        read = agrees(path, schedule, seed=n)
        assert read.collective == schedule.collective
        assert (
            read.steps <= schedule.steps + 3
        )  # out of place: the input is copied, and the result where it was made in scratch
        written += 1
    assert written or ABLE[name](8).endpoints > 8


@pytest.mark.parametrize("n", [4, 32])
def test_a_direct_alltoall_fits_into_the_thread_blocks_of_a_channel(n, tmp_path):
    """n - 1 peers to send to and as many to receive from: at 32 ranks 62 connections share 31 thread blocks, and one
    copies."""
    r = np.arange(n)
    steps = [copy(r, (r + k) % n, (r + k) % n, n + r) for k in range(n)]
    schedule = freeze("alltoall_direct", "alltoall", n, steps, chunks=n)
    write_msccl(schedule, tmp_path / "a.xml")
    agrees(tmp_path / "a.xml", schedule)
    blocks = [len(g.blocks) for g in parse(tmp_path / "a.xml").gpus]
    assert max(blocks) <= 32


def test_an_allreduce_over_two_channels_keeps_them(tmp_path):
    n = 4
    ring = cs.schedule("allreduce_ring", ranks=n)
    steps = [Step(s.src, s.dst, 2 * s.chunk, 2 * s.into, s.reduce, s.channel) for s in ring.each_step()]
    # the mirrored ring: rank r stands for rank -r
    back = [
        Step((-s.src) % n, (-s.dst) % n, s.chunk * 2 + 1, s.into * 2 + 1, s.reduce, s.channel + 1)
        for s in ring.each_step()
    ]
    schedule = freeze("two", "allreduce", n, [[a, b] for a, b in zip(steps, back, strict=True)], chunks=2 * n)
    cs.verify(schedule)
    write_msccl(schedule, tmp_path / "a.xml")
    read = agrees(tmp_path / "a.xml", schedule)
    assert set(read.transfers["channel"]) == {0, 1}
    assert read.steps == ring.steps


def test_local_copies_that_swap_go_through_scratch(tmp_path):
    """A rank that exchanges two of its own slots in one step: both read before either is written."""
    swap = copy([0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0])
    add = [reduce([0, 0], [1, 1], [0, 1]), copy([1, 1], [0, 0], [0, 1])]
    schedule = freeze("swapped", "allreduce", 2, [swap, *add, swap, swap, swap], chunks=2)
    cs.verify(schedule)
    write_msccl(schedule, tmp_path / "a.xml")
    agrees(tmp_path / "a.xml", schedule)


def test_a_schedule_that_is_wrong_is_not_written(tmp_path):
    wrong = freeze("half", "allreduce", 2, [reduce(0, 1, 0)], chunks=1)
    with pytest.raises(cs.ScheduleError, match="wrong result"):
        write_msccl(wrong, tmp_path / "a.xml")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_schedule_beyond_the_limits_is_not_written(tmp_path):
    with pytest.raises(cs.ScheduleError, match="256"):
        write_msccl(cs.schedule("allreduce_ring", ranks=140), tmp_path / "a.xml")
    assert not list(tmp_path.iterdir())


@st.composite
def schedules(draw):
    """Allreduces of a random shape: random transfers, most of them useless, before a reduce to a rank and a broadcast
    of scratch slots."""
    n, chunks = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    root = draw(st.integers(0, n - 1))
    scratch = chunks
    rows = draw(
        st.lists(st.lists(st.tuples(*[st.integers(0, 10**6)] * 4, st.booleans()), min_size=1, max_size=4), max_size=4)
    )
    steps = [
        copy(
            np.repeat(np.arange(n), chunks),
            np.repeat(np.arange(n), chunks),
            np.tile(np.arange(chunks), n),
            scratch + np.tile(np.arange(chunks), n),
        )
    ]
    for row in rows:
        taken, parts = set(), []
        for a, b, c, d, adds in row:
            src, dst, chunk, into = a % n, b % n, c % (2 * chunks), scratch + d % chunks
            if (dst, into) not in taken and (src, chunk) != (dst, into):
                taken.add((dst, into))
                parts.append((reduce if adds else copy)(src, dst, chunk, into, channel=a % 2))
        if parts:
            steps.append(parts)
    others = [r for r in range(n) if r != root]
    for r in draw(st.permutations(others)):
        steps.append(reduce(r, root, np.arange(chunks)))
    steps.append([copy(root, r, np.arange(chunks)) for r in others])
    return freeze("random", "allreduce", n, steps, chunks=chunks)


@given(schedules(), st.booleans(), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_any_schedule_comes_back_the_same(tmp_path_factory, schedule, inplace, seed):
    path = tmp_path_factory.mktemp("any") / "a.xml"
    cs.verify(schedule)
    write_msccl(schedule, path, inplace=inplace)
    agrees(path, schedule, seed)


def test_an_in_place_alltoall_ends_where_it_began(tmp_path):
    """Two gpus swap one block each: the same buffer before and after, which a schedule shows in slots of their own."""
    blocks = [
        [tb(0, 1 - g, 1 - g, step(0, "cpy", f"i{1 - g}", "s0"), step(1, "s", "s0"), step(2, "r", dst=f"o{1 - g}"))]
        for g in range(2)
    ]
    read = agrees(algo(tmp_path, *blocks, coll="alltoall", chunks=2))
    assert (read.collective, read.chunks) == ("alltoall", 2)


def test_both_placements_of_a_file_are_checked(tmp_path):
    """inplace and outofplace: right where input and output are one buffer, but out of place nobody copies gpu 0's own
    sum there."""
    a = tb(0, 1, 1, step(0, "rrc", "i0", "i0"), step(1, "s"))
    b = tb(0, 0, 0, step(0, "s"), step(1, "r", dst="o0"))
    assert len(read_msccl(exchange(tmp_path, a=a, b=b))) == 2
    refused(
        exchange(tmp_path, a=a, b=b, more='outofplace="1"'),
        "wrong result",
        "gpu 0",
        "nothing writes chunk 0 of the output buffer",
    )
