"""When each message of a program moved on a network, and when each rank waited.

What the ranks did is known in order (`RankEvent`). A message begins when both ends have been posted, an eager one when
its send has; a collective when all members have called it. So every message and collective becomes an entry of one
ordered run of the event engine that begins when others have ended, and the links that entries share give the times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import CollsimError
from ..package_data import read_csv
from ..rank_engine.engine import RankEvent
from ..rank_engine.garbage_collection import pause_collection
from ..registry import schedule
from ..schedule import Schedule
from ..simulate import Launch, simulate_ordered
from ..topology import Topology
from ..topology.generic import switch
from ..topology.parts.rank_selection import select_ranks

#: The algorithm that stands for a collective call of a library, and whether its size is the whole array of all ranks.
_ALGORITHMS = {
    row["word"]: (row["algorithm"], row["size"] == "all ranks") for row in read_csv(__file__, "library_calls.csv")
}
_SHORTEST = 1e-12  # s of a span that is shown
Events = Sequence[RankEvent]
Groups = Sequence[Sequence[int]]  # the ranks of each communicator


@dataclass(frozen=True)
class MessageTimes:
    """When a message moved, in seconds.

    Attributes:
        posted: when its send was called.
        matched: when both its ends had been called; None for a message that nobody received.
        begin: when it began to move; None where it never did.
        arrived: when its last byte arrived, or None.
    """

    posted: float
    matched: float | None
    begin: float | None
    arrived: float | None


@dataclass(frozen=True)
class RankSpan:
    """A time in which a rank was inside of a call.

    Attributes:
        rank: who.
        call: the word of the library.
        line: the line that it was in.
        peer: the other rank of the message, or -1.
        begin: s.
        end: s; None where the call never returned.
    """

    rank: int
    call: str
    line: int
    peer: int
    begin: float
    end: float | None


@dataclass(frozen=True)
class ProgramTimeline:
    """When everything happened.

    Attributes:
        messages: one for each message of the program, in the order of the sends.
        spans: when ranks waited, in the order of their begins.
        ends: s, by rank, when it ended, or began to wait forever.
        time: s, when the last rank ended; in a hang, when the last thing happened.
    """

    messages: tuple[MessageTimes, ...]
    spans: tuple[RankSpan, ...]
    ends: tuple[float, ...]
    time: float


@dataclass
class MessageWalk:
    """The events of all ranks as entries of an ordered run, each of which begins when others have ended.

    Attributes:
        events: what the ranks did.
        groups: the ranks of communicators.
        hosts: the topology's rank of each rank.
        launches: the entries.
        frontier: for each rank the entries that have to end before it goes on.
        before: the frontier of its rank at each event that was reached.
        entry: the entry of each event that was posted, once it is known.
        after: for each wait that has ended, by its event, the entries that had to end before it.
    """

    events: Sequence[RankEvent]
    groups: Sequence[Sequence[int]]
    hosts: Sequence[int]
    launches: list[Launch]
    frontier: list[frozenset[int]]
    before: dict[int, frozenset[int]] = field(default_factory=dict)
    entry: dict[int, int] = field(default_factory=dict)
    after: dict[int, frozenset[int]] = field(default_factory=dict)  # what a wait that has ended waited for
    _rounds: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _calls: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def start(cls, events: Events, groups: Groups, hosts: Sequence[int], delays: Sequence[float]) -> MessageWalk:
        """A walk in which no rank has done anything.

        Args:
            events: what the ranks did.
            groups: the ranks of communicators.
            hosts: the topology's rank of each rank.
            delays: seconds by which each rank begins later.

        Returns:
            The walk, with one entry for the beginning of each rank.
        """
        begins = [Launch((), delay) for delay in delays]
        return cls(events, groups, hosts, begins, [frozenset([rank]) for rank in range(len(delays))])

    def run(self) -> None:
        """Let each rank go on to a wait whose entry is not known, until none can."""
        queues: list[list[int]] = [[] for _ in self.frontier]
        for position, event in enumerate(self.events):
            queues[event.rank].append(position)
        # Reversed, so that taking the next event from the end of a list does not move all others.
        for queue in queues:
            queue.reverse()
        # A rank that waits is passed over until another has posted what it waits for; a round without any move is the
        # end, or a hang.
        moves = True
        while moves:
            moves = False
            for queue in queues:
                while queue and self._advance(queue[-1]):
                    queue.pop()
                    moves = True

    def _advance(self, position: int) -> bool:
        """Whether a rank gets past an event."""
        event = self.events[position]
        # An event is met again in each round while its rank cannot pass it, and must be posted only once.
        if position not in self.before:
            self.before[position] = self.frontier[event.rank]
            if event.kind == "sleep":
                entry = self._launch(Launch(tuple(sorted(self.frontier[event.rank])), event.seconds))
                self.frontier[event.rank] = frozenset([entry])
            elif event.kind == "collective":
                self._post_collective(position)
            elif event.kind != "wait":
                self._post_message(position)
        if event.kind != "wait":
            return True
        # An eager send completed when it was called: waiting for it takes no time, whenever its message arrives.
        if self.events[event.other].is_eager:
            self.after[position] = self.frontier[event.rank]
            return True
        entry = self.entry.get(event.other, -1)
        if entry < 0:
            return False
        # What the entry itself waits for need not be waited for again; frontiers would else grow with every event.
        rest = self.frontier[event.rank].difference(self.launches[entry].after)
        self.after[position] = self.frontier[event.rank] = rest | {entry}
        return True

    def _launch(self, launch: Launch) -> int:
        self.launches.append(launch)
        return len(self.launches) - 1

    def _post_message(self, position: int) -> None:
        """A message begins when both ends are posted, an eager one at its send."""
        event = self.events[position]
        send, receive = position, event.other
        if event.kind == "receive":
            send, receive = event.other, position
        if send < 0 or send in self.entry:
            return
        if self.events[send].is_eager:
            if send in self.before:
                self._start_message(send, receive, self.before[send])
        elif receive >= 0 and send in self.before and receive in self.before:
            self._start_message(send, receive, self.before[send] | self.before[receive])

    def _start_message(self, send: int, receive: int, after: frozenset[int]) -> None:
        event = self.events[send]
        ends = self.hosts[event.rank], self.hosts[event.peer]
        launch = Launch(tuple(sorted(after)))  # a message to oneself crosses no link
        if ends[0] != ends[1]:
            launch = Launch(tuple(sorted(after)), 0.0, _MESSAGE, event.nbytes, ends)
        self.entry[send] = self._launch(launch)
        if receive >= 0:
            self.entry[receive] = self.entry[send]

    def _post_collective(self, position: int) -> None:
        """A collective begins when the last member has called it."""
        event = self.events[position]
        # Calls have no name in common: the k-th call of each member in a communicator is the same collective.
        caller = event.rank, event.group
        number = self._calls[caller] = self._calls.get(caller, -1) + 1
        calls = self._rounds.setdefault((event.group, number), [])
        calls.append(position)
        members = self.groups[event.group]
        if len(calls) < len(members) or len({self.events[call].call.lower() for call in calls}) > 1:
            return
        after = tuple(sorted(frozenset[int]().union(*(self.before[call] for call in calls))))
        launch = Launch(after)
        if len(members) > 1:
            hosts = tuple(self.hosts[rank] for rank in members)
            nbytes = max(self.events[call].nbytes for call in calls)
            launch = Launch(after, 0.0, *_choose_schedule(event, len(members), nbytes), hosts)
        entry = self._launch(launch)
        self.entry.update(dict.fromkeys(calls, entry))


_MESSAGE: Schedule = schedule("broadcast_flat", ranks=2)


def _choose_schedule(event: RankEvent, members: int, nbytes: int) -> tuple[Schedule, int]:
    """The schedule that stands for a collective call, and its size in bytes."""
    name = event.call.lower().replace("_", "").removesuffix("tensor").removesuffix("single")
    algorithm, is_whole = _ALGORITHMS.get(name, ("allgather_ring", True))
    size = nbytes
    if is_whole:
        size = nbytes * members
    if event.peer > 0:
        return schedule(algorithm, ranks=members, root=event.peer), size
    return schedule(algorithm, ranks=members), size


def build_plain_network(ranks: int) -> Topology:
    """The network of a program for which no machine is named.

    Args:
        ranks: how many computers there are.

    Returns:
        Computers on one switch with Ethernet of 10 Gbit/s; a message takes 50 us besides its bytes.
    """
    return switch(max(ranks, 2), bandwidth="10Gbit/s", alpha="25us")


def require_events(events: Events, groups: Groups, ranks: int) -> None:
    """Refuse events that contradict one another, as a stranger's process may send them.

    Args:
        events: what the ranks did.
        groups: the ranks of communicators.
        ranks: how many ranks there are.

    Raises:
        CollsimError: for ranks, positions or sizes that cannot be.
    """
    kinds = {"send": "receive", "receive": "send"}
    for event in events:
        if not 0 <= event.rank < ranks or not -1 <= event.other < len(events) or event.nbytes < 0:
            raise CollsimError("the process of the program sent events that contradict one another")
        other = events[event.other]
        is_good = {
            "wait": event.other >= 0 and other.kind in ("send", "receive", "collective") and other.rank == event.rank,
            "collective": 0 <= event.group < len(groups) and event.rank in groups[event.group],
            "sleep": True,
        }.get(event.kind, event.other < 0 or (other.kind == kinds.get(event.kind) and events[other.other] is event))
        is_peer = event.kind not in ("send", "receive") or event.peer < ranks
        if not is_good or not is_peer or (event.kind == "send" and event.peer < 0):
            raise CollsimError("the process of the program sent events that contradict one another")
    for members in groups:
        if len(set(members)) != len(members) or not set(members) <= set(range(ranks)):
            raise CollsimError("the process of the program sent events that contradict one another")


@pause_collection()
def time_events(
    events: Events, groups: Groups, ranks: int, topology: Topology, late: Mapping[int, float]
) -> ProgramTimeline:
    """Time what the ranks of a program did.

    Args:
        events: what they did, in an order in which it is possible.
        groups: the ranks of communicators that had a collective.
        ranks: how many ranks there are.
        topology: the network; the ranks are the first ones of each node, as in `simulate`.
        late: seconds by which ranks begin later.

    Returns:
        The times of all messages, and when ranks waited.

    Raises:
        CollsimError: for events that contradict one another.
        TopologyError: where the ranks do not fit or cannot reach one another.
    """
    require_events(events, groups, ranks)
    hosts = [int(rank) for rank in select_ranks(topology, ranks)]
    walk = MessageWalk.start(events, groups, hosts, [late.get(rank, 0.0) for rank in range(ranks)])
    walk.run()
    run = simulate_ordered(walk.launches, topology, dtype="uint8")
    begin, end = run.begin, run.end

    def find_moment(entries: frozenset[int]) -> float:
        return float(max(end[entry] for entry in entries))

    reached = {position: find_moment(entries) for position, entries in walk.before.items()}
    messages = tuple(
        _time_message(walk, position, reached, begin, end)
        for position, event in enumerate(events)
        if event.kind == "send" and not event.is_internal
    )
    spans = []
    for position, event in enumerate(events):
        if event.kind != "wait" or position not in reached:
            continue
        until = None
        if position in walk.after:
            until = find_moment(walk.after[position])
        # Waits too short to be seen would only be lines in the picture.
        if until is None or until - reached[position] > _SHORTEST:
            peer = events[event.other].peer
            spans.append(RankSpan(event.rank, event.call, event.line, peer, reached[position], until))
    spans.sort(key=lambda span: (span.begin, span.rank))
    ends = tuple(find_moment(entries) for entries in walk.frontier)
    arrivals = [message.arrived for message in messages if message.arrived is not None]
    return ProgramTimeline(messages, tuple(spans), ends, max([*ends, *arrivals]))


def _time_message(
    walk: MessageWalk, send: int, reached: Mapping[int, float], begin: np.ndarray, end: np.ndarray
) -> MessageTimes:
    receive = walk.events[send].other
    posted, matched = reached.get(send, 0.0), None
    if receive in reached and send in reached:
        matched = max(posted, reached[receive])
    if send not in walk.entry:
        return MessageTimes(posted, matched, None, None)
    entry = walk.entry[send]
    return MessageTimes(posted, matched, float(begin[entry]), float(end[entry]))
