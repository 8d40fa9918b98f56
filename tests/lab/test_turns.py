"""Who has the cables when: where all send to all at once, no cable waits, and what is read late passed in time."""

import socket
import time
from collections import deque

import numpy as np
import pytest

import collsim as cs
from collsim.lab.ranks.emulated_network import ImitatedNetwork, TokenBucket
from collsim.lab.ranks.endpoint_program import build_programs
from collsim.lab.ranks.exchange import Exchange
from collsim.lab.ranks.nic import Outgoing, RankNic
from collsim.lab.ranks.wire import DATA, Frame, PeerWire
from collsim.replay import mark_initial_slots

NETWORK = ImitatedNetwork(0.01, 10e6)
CHUNK = 2**17


class Noted:
    """A wire that takes everything, and notes who sent what when."""

    full = False

    def __init__(self, peer, notes):
        self.peer, self.notes = peer, notes

    def send(self, frame):
        self.notes.append((frame.left, self.peer, len(frame.data), bytes(frame.data)))


def sent(nic, seconds):
    """Push as if so many seconds had passed."""
    nic._push(time.perf_counter() + seconds)


def cards(ranks):
    """(notes, exchange) of each rank of a two-shot whose sends have all begun at 0."""
    plan = cs.schedule("allreduce_direct_two_shot", ranks=ranks)
    found = []
    for endpoint, program in enumerate(build_programs(plan, mark_initial_slots(plan))):
        notes = []
        wires = {peer: Noted(peer, notes) for peer in program.peers}
        nic = RankNic(endpoint, wires, NETWORK)
        exchange = Exchange(program, [np.zeros(CHUNK // 4, np.float32) for _ in range(ranks)], nic)
        exchange.start()
        nic.out.free = 0.0
        found.append((notes, exchange))
    return found


def test_where_all_send_to_all_every_receiver_ends_when_its_bytes_have_passed():
    """7 chunks of 128 KiB at 10 MB/s. If all sent to rank 0 first, the last receiver would wait 6 pieces for its first."""
    ends = []
    arrivals = {rank: [] for rank in range(8)}
    for notes, exchange in cards(8):
        sent(exchange.nic, 1e6)
        for left, peer, size, _ in notes:
            arrivals[peer].append((left, size))
    for frames in arrivals.values():
        into = TokenBucket(NETWORK.beta(0))
        ends.append([into.pass_after(size, left - size * into.beta) for left, size in sorted(frames)][-1])
    assert ends == pytest.approx([7 * CHUNK / 10e6] * 8, rel=1e-3)


def test_sends_that_begin_together_go_to_the_next_rank_first():
    first = [[peer for _, peer, _, _ in notes[:7]] for notes, exchange in cards(8) if not sent(exchange.nic, 1e6)]
    assert first == [[(rank + k) % 8 for k in range(1, 8)] for rank in range(8)]


def test_a_send_that_the_end_of_another_sets_off_goes_on_in_the_same_turn():
    """Its card hands over both: nobody would wake it for the second."""
    nic, notes, done = RankNic(0, {}, NETWORK), [], deque()
    wire = Noted(1, notes)

    def then(left):
        nic.send(Outgoing(wire, 1, memoryview(bytes(1000)), True, done.append), left)

    nic.send(Outgoing(wire, 0, memoryview(bytes(1000)), True, then), 5.0)
    nic.out.free = 5.0
    sent(nic, 1e6)
    assert [round(left - 5.0, 6) for left, *_ in notes] == [1000 / 10e6, 2000 / 10e6]
    assert list(done) == [notes[-1][0]]


# ---- the cable of a receiver


def test_what_is_read_late_passes_while_the_cable_was_idle():
    into = TokenBucket(1e-3)
    assert into.pass_after(10, 1.0) == pytest.approx(1.01)  # idle until 1
    assert into.pass_after(10, 2.0) == pytest.approx(2.01)  # and from 1.01 to 2
    assert into.pass_after(10, 1.0) == pytest.approx(1.02)  # left at 1, read after the one of 2
    assert into.pass_after(2000, 1.5) == pytest.approx(2.01 + 2.0 - 0.5)  # half a second of it found room before 2
    assert into.pass_after(1, 0.0) == pytest.approx(0.001)
    assert into.pass_after(480, 1.0) == pytest.approx(1.5)  # all but what has passed there already
    assert into.pass_after(1, 1.0) == pytest.approx(3.511)  # and no byte passes twice


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_frames_are_read_takes_no_time_from_the_cable(seed):
    """The same frames, in the order in which they left and in another: the last has passed at the same moment."""
    random = np.random.default_rng(seed)
    frames = [
        (float(at), int(size)) for at, size in zip(random.uniform(0, 1, 40), random.integers(1, 50, 40), strict=True)
    ]
    ends = []
    for order in (sorted(frames), [frames[i] for i in random.permutation(40)]):
        into = TokenBucket(1e-3)
        ends.append(max(into.pass_after(size, at) for at, size in order))
    assert ends[0] == pytest.approx(ends[1])


# ---- what is sent is what was in the slot


def test_what_is_written_over_before_it_has_left_is_sent_as_it_was():
    slot, notes = np.arange(4, dtype=np.float32), []
    one = Outgoing(Noted(1, notes), 0, slot.view(np.uint8).data, True, lambda left: None)
    nic = RankNic(0, {}, NETWORK)
    nic.send(one, 0.0)
    one.copy_rest()
    slot[:] = -1
    sent(nic, 1e6)
    assert np.frombuffer(b"".join(data for *_, data in notes), np.float32).tolist() == [0, 1, 2, 3]


def test_what_the_system_has_not_taken_is_kept_as_it_was():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire, data = PeerWire(1, ours), bytearray(b"a" * 4 * 2**20)
        wire.send(Frame(DATA, 0, memoryview(data), 0.0))
        assert wire.full
        data[:] = b"b" * len(data)
        found = bytearray()
        while wire.full:
            found += theirs.recv(2**20)
            wire.flush()
        ours.shutdown(socket.SHUT_WR)
        while come := theirs.recv(2**20):
            found += come
    assert found.count(b"a") == len(data)
