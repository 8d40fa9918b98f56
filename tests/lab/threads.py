"""The program of every rank, run by threads of this process over pairs of sockets: the same loop, without the time that
processes take to start."""

import socket
import threading

import numpy as np

from collsim.lab.ranks.emulated_network import ImitatedNetwork
from collsim.lab.ranks.endpoint_program import build_programs
from collsim.lab.ranks.exchange import Exchange
from collsim.lab.ranks.nic import RankNic
from collsim.lab.ranks.wire import PeerWire
from collsim.replay import mark_initial_slots


def wires_of(listed):
    """A wire between every two endpoints that exchange anything."""
    wires = {program.endpoint: {} for program in listed}
    for program in listed:
        for peer in program.peers:
            if peer > program.endpoint:
                one, other = socket.socketpair()
                wires[program.endpoint][peer], wires[peer][program.endpoint] = (
                    PeerWire(peer, one),
                    PeerWire(program.endpoint, other),
                )
    return wires


UNPACED = ImitatedNetwork()


def by_threads(network=UNPACED):
    """A `Mover` for `collsim.replay.replay_with`."""

    def move(schedule, values, held, combine):
        listed = build_programs(schedule, mark_initial_slots(schedule) if held is None else held)
        wires, failed = wires_of(listed), []

        def serve(program):
            slots = [values[program.endpoint, slot].copy() for slot in range(values.shape[1])]
            try:
                nic = RankNic(program.endpoint, wires[program.endpoint], network)
                Exchange(program, slots, nic, combine).run(0.0)
                values[program.endpoint] = slots
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=serve, args=(program,), daemon=True) for program in listed]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        for mine in wires.values():
            for wire in mine.values():
                wire.close()
        assert not failed, failed
        assert not any(thread.is_alive() for thread in threads), "a rank waits forever"

    return move


def same_bits(one, other):
    """Equal in every bit, of whatever type."""
    return one.dtype == other.dtype and np.array_equal(one.view(np.uint8), other.view(np.uint8))
