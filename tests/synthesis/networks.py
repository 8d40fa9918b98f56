"""Networks of published papers and random ones, for the tests of synthesis."""

import networkx as nx
import numpy as np

import collsim as cs

# Links between the GPUs of a DGX-1V (nvidia-smi topo -m; NVIDIA/nccl issue 671).
DGX1 = {
    0: {1: 1, 2: 1, 3: 2, 4: 2},
    1: {2: 2, 3: 1, 5: 2},
    2: {3: 2, 6: 1},
    3: {7: 1},
    4: {5: 1, 6: 1, 7: 2},
    5: {6: 2, 7: 1},
    6: {7: 2},
}
# xGMI links of 50 GB/s between the 16 dies of a box of eight MI250 (liangyuRain/ForestColl topologies.py).
MI250 = {
    0: {1: 4, 4: 2, 8: 1},
    1: {5: 1, 9: 1, 10: 1},
    2: {3: 4, 6: 1, 9: 1, 10: 1},
    3: {7: 2, 11: 1},
    4: {5: 4, 6: 1},
    5: {6: 1, 7: 1},
    6: {7: 4},
    8: {9: 4, 12: 2},
    9: {13: 1},
    10: {11: 4, 14: 1},
    11: {15: 2},
    12: {13: 4, 14: 1},
    13: {14: 1, 15: 1},
    14: {15: 4},
}


def graph_of(edges, ranks, alpha=0.0):
    graph = nx.Graph()
    for rank in range(ranks):
        graph.add_node(rank, kind="gpu")
    for a, b, bandwidth in edges:
        graph.add_edge(a, b, bandwidth=bandwidth, alpha=alpha)
    return cs.Topology.from_networkx(graph)


def dgx1():
    """NVLinks alone, 25 GB/s each."""
    return graph_of([(a, b, 25e9 * w) for a, row in DGX1.items() for b, w in row.items()], 8, alpha="0.7us")


def ndv2(nodes):
    """Azure NDv2: NVLinks of a DGX-1V; all GPUs of a node share one card of 12.5 GB/s (Shah et al., TACCL, section
    3.1).
    """
    edges = [(8 * k + a, 8 * k + b, 25e9 * w) for k in range(nodes) for a, row in DGX1.items() for b, w in row.items()]
    edges += [(g, f"card{g // 8}", 12.5e9) for g in range(8 * nodes)]
    return graph_of(edges + [(f"card{k}", "network", 12.5e9) for k in range(nodes)], 8 * nodes, alpha="1us")


def boxes_of_a100(nodes):
    """ForestColl's model of DGX A100 (topologies.py): 300 GB/s to NVSwitch, 25 GB/s to the network, per GPU."""
    edges = [(g, f"nvswitch{g // 8}", 300e9) for g in range(8 * nodes)]
    return graph_of(edges + [(g, "network", 25e9) for g in range(8 * nodes)], 8 * nodes, alpha="1us")


def boxes_of_mi250(nodes):
    """ForestColl's model of boxes of eight MI250, 16 GB/s to the network per die."""
    edges = [
        (16 * k + a, 16 * k + b, 50e9 * w) for k in range(nodes) for a, row in MI250.items() for b, w in row.items()
    ]
    return graph_of(edges + [(g, "network", 16e9) for g in range(16 * nodes)], 16 * nodes, alpha="1us")


def tacos(kind, dims, latency, bandwidth):
    """A mesh or torus as TACOS has it: latency in us, bandwidth in GiB/s; two rates make rows and columns differ."""
    if len(bandwidth) == 1:
        make = cs.topology.torus if kind == "torus" else cs.topology.mesh
        return make(*dims, bandwidth=bandwidth[0] * 2**30, alpha=latency * 1e-6)
    width, height = dims
    across = [(r * width + c, r * width + c + 1, bandwidth[0]) for r in range(height) for c in range(width - 1)]
    down = [(r * width + c, r * width + width + c, bandwidth[1]) for r in range(height - 1) for c in range(width)]
    edges = [(a, b, rate * 2**30) for a, b, rate in across + down]
    return graph_of(edges, width * height, alpha=latency * 1e-6)


def random_network(seed):
    """4 to 9 ranks with one-way links of random rates (GB/s), every rank reachable from every other; sometimes a
    switch.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    graph = nx.DiGraph()
    for device in range(n):
        graph.add_node(device, kind="gpu")
    order = rng.permutation(n)
    pairs = {(int(a), int(b)) for a, b in zip(order, np.roll(order, 1), strict=True)}
    pairs |= {(int(a), int(b)) for a, b in rng.integers(0, n, (2 * n, 2)) if a != b}
    for a, b in sorted(pairs):
        graph.add_edge(a, b, bandwidth=f"{rng.integers(1, 9)}GB/s", alpha="1us")
    if rng.random() < 0.5:  # some ranks also meet at a switch
        for a in rng.permutation(n)[: n // 2].tolist():
            rate = f"{rng.integers(1, 5)}GB/s"
            graph.add_edge(a, "switch", bandwidth=rate, alpha="1us")
            graph.add_edge("switch", a, bandwidth=rate, alpha="1us")
    return cs.Topology.from_networkx(graph, name=f"random{seed}")


def uneven_network(seed):
    """6 to 16 ranks, a random tree and more links, each with one of six rates between 12.5 and 300 GB/s."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 17))
    order = rng.permutation(n).tolist()
    pairs = {frozenset((order[i], order[int(rng.integers(0, i))])) for i in range(1, n)}
    more = rng.integers(0, n, (int(rng.integers(n // 2, 2 * n)), 2)).tolist()
    pairs |= {frozenset(pair) for pair in more if pair[0] != pair[1]}
    rates = rng.choice([12.5e9, 25e9, 50e9, 100e9, 200e9, 300e9], len(pairs)).tolist()
    edges = [(*sorted(pair), rate) for pair, rate in zip(sorted(pairs, key=sorted), rates, strict=True)]
    return graph_of(edges, n, alpha="1us")
