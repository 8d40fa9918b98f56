"""Random flows on a three-layer fat tree, by collsim and by SimGrid in turn: `python benchmarks/simgrid_flows.py [hosts
[ports [optim]]]`. Prints the processor time in s of both and how far their end times differ.

It needs SimGrid 4 with its Python module (Debian 13's `python3-simgrid`, or `pip install simgrid`). SimGrid gets the links and the
routes of collsim, and is set to what `sharing="fair"` assumes: the whole bandwidth of a link, shared max-min, no
acknowledgements, and the latency of the route once. Its default `network/optim:Lazy` leaves out updates; `Full` is the
model as it is written.
"""

import sys
from time import process_time

import numpy as np
import simgrid

import collsim as cs
from collsim.simulate import simulate_flows

SETTINGS = {
    "network/model": "CM02",
    "network/weight-S": "0",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
}


def draw_flows(hosts):
    """Sixteen flows per host to random others, of 1 to 64 MiB: sources, destinations, bytes."""
    rng = np.random.default_rng(1)
    src = np.repeat(np.arange(hosts), 16)
    dst = (src + rng.integers(1, hosts, len(src))) % hosts
    return src, dst, rng.integers(2**20, 2**26, len(src))


def run_collsim(network, flows):
    """Run the flows after a few others that load the compiled kernels: processor time in s, and the end of each."""
    simulate_flows(cs.topology.fat_tree(4), [0, 1], [3, 4], "1MiB")
    begin = process_time()
    finish = simulate_flows(network, *flows).finish
    return process_time() - begin, finish


def run_simgrid(network, flows, optim):
    """Run the same flows over the same links and routes: processor time in s of the run, and the end of each flow."""
    src, dst, nbytes = flows
    settings = {**SETTINGS, "network/optim": optim}
    engine = simgrid.Engine(["flows", *(f"--cfg={name}:{value}" for name, value in settings.items())])
    zone = engine.netzone_root.add_netzone_full("network")
    hosts = [zone.add_host(f"host{rank}", "1Gf").seal() for rank in range(network.ranks)]
    links = [
        simgrid.LinkInRoute(zone.add_link(f"link{i}", float(rate)).set_latency(float(alpha)).seal())
        for i, (rate, alpha) in enumerate(zip(network.links.bandwidth, network.links.alpha, strict=True))
    ]
    pairs = list(dict.fromkeys(zip(src.tolist(), dst.tolist(), strict=True)))
    for (a, b), route in zip(pairs, network.routes(*zip(*pairs, strict=True)), strict=True):
        zone.add_route(hosts[a], hosts[b], [links[link] for link in route], False)
    zone.seal()
    comms = []

    def start_flows():
        for a, b, size in zip(src.tolist(), dst.tolist(), nbytes.tolist(), strict=True):
            comms.append(simgrid.Comm.sendto_async(hosts[a], hosts[b], size))
        simgrid.ActivitySet(comms).wait_all()

    engine.add_actor("source", hosts[0], start_flows)
    begin = process_time()
    engine.run()
    return process_time() - begin, np.array([comm.finish_time for comm in comms])


def main(hosts=1024, ports=16, optim="Full"):
    network = cs.topology.fat_tree(int(ports), bandwidth="25GB/s", alpha=0)
    flows = draw_flows(int(hosts))
    collsim_time, finish = run_collsim(network, flows)
    simgrid_time, other = run_simgrid(network, flows, optim)
    apart = np.abs(finish / other - 1)
    print(f"{len(finish)} flows of {hosts} hosts on a fat tree of {network.ranks}: collsim {collsim_time:.2f} s, ")
    print(f"SimGrid {simgrid.simgrid_version} ({optim}) {simgrid_time:.2f} s; ends differ by up to {apart.max():.1e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
