"""The event engine's semantics once more, as a SimPy model: slow, direct, and sharing no code with the engine."""

import numpy as np
import simpy


def simulate(schedule, topology, slot_bytes, sharing, gamma=None, delay=None):
    """(start, finish) of every transfer, from one SimPy process each."""
    env = simpy.Environment()
    network = {"none": Alone, "fair": Fair, "fifo": Fifo}[sharing](env, topology)
    devices = {}
    t = schedule.transfers
    done = [env.event() for _ in t]
    start, finish = np.zeros(len(t)), np.zeros(len(t))

    def transfer(row):
        me = t[row]
        earlier = t[:row]
        before = earlier["step"] < me["step"]
        channel = earlier["channel"] == me["channel"]
        writes = (earlier["dst"] == me["src"]) & (earlier["into"] == me["chunk"])
        needed = before & (writes | channel & ((earlier["src"] == me["src"]) | (earlier["dst"] == me["dst"])))
        yield env.all_of([done[i] for i in np.flatnonzero(needed)])
        start[row] = env.now
        links = topology.routes([me["src"]], [me["dst"]])[0]
        if len(links):
            if delay is not None:
                yield env.timeout(delay[row])
            yield env.process(network.carry(row, links, float(slot_bytes[me["chunk"]])))
        if gamma and me["reduce"]:
            device = devices.setdefault(int(me["dst"]), simpy.Resource(env))
            with device.request() as turn:
                yield turn
                yield env.timeout(slot_bytes[me["chunk"]] / gamma)
        finish[row] = env.now
        done[row].succeed()

    for row in range(len(t)):
        env.process(transfer(row))
    env.run()
    assert all(event.processed for event in done)
    return start, finish


class Alone:
    def __init__(self, env, topology):
        self.env, self.links = env, topology.links

    def carry(self, row, links, nbytes):
        yield self.env.timeout(self.links.alpha[links].sum())
        yield self.env.timeout(nbytes / self.links.bandwidth[links].min())


class Fifo(Alone):
    """Links are SimPy resources, held for bytes / bandwidth."""

    def __init__(self, env, topology):
        super().__init__(env, topology)
        self.cables = [simpy.PriorityResource(env) for _ in range(len(topology.links))]

    def carry(self, row, links, nbytes):
        for link in links:
            with self.cables[link].request(
                priority=self.env.now * 1e18 + row
            ) as turn:  # in order of arrival, then of rows
                yield turn
                yield self.env.timeout(nbytes / self.links.bandwidth[link])
            yield self.env.timeout(self.links.alpha[link])


class Fair(Alone):
    """Rates are worked out anew, for everybody, whenever a flow begins or ends."""

    def __init__(self, env, topology):
        super().__init__(env, topology)
        self.left, self.routes, self.ended, self.since, self.rate = {}, {}, {}, 0.0, {}

    def carry(self, row, links, nbytes):
        yield self.env.timeout(self.links.alpha[links].sum())
        if not nbytes:
            return
        self.progress()
        self.left[row], self.routes[row], self.ended[row] = nbytes, links, self.env.event()
        self.change()
        yield self.ended[row]

    def progress(self):
        for row, rate in self.rate.items():
            self.left[row] -= rate * (self.env.now - self.since)
        self.since = self.env.now

    def change(self):
        self.rate = max_min(self.routes, self.links.bandwidth)
        if self.rate:
            first = min(self.left[row] / self.rate[row] for row in self.rate)
            self.env.process(self.wake(max(first, 0.0), frozenset(self.rate)))

    def wake(self, delay, rows):
        due = self.env.now + delay
        yield self.env.timeout(delay)
        if frozenset(self.rate) != rows:
            return  # somebody began or ended in between, and set another alarm
        self.progress()
        over = [row for row in sorted(rows) if self.left[row] <= 1e-9 * self.rate[row] * max(due, 1e-12)]
        for row in over:
            del self.left[row], self.routes[row], self.rate[row]
            self.ended[row].succeed()
        if over:
            self.change()


def max_min(routes, bandwidth):
    """Progressive filling by the book: raise all rates together, freeze those whose link is full."""
    rate = dict.fromkeys(routes, 0.0)
    growing = set(routes)
    room = np.array(bandwidth, float)
    while growing:
        users = np.zeros(len(room))
        for row in growing:
            np.add.at(users, routes[row], 1)
        step = (room[users > 0] / users[users > 0]).min()
        for row in growing:
            rate[row] += step
        room -= step * users
        full = (users > 0) & (room <= 1e-12 * np.asarray(bandwidth))
        growing = {row for row in growing if not full[routes[row]].any()}
    return rate
