"""The run that a link into the app opens."""

from urllib.parse import parse_qsl, urlsplit

import collsim as cs
from collsim.app.choice import from_query, network_text
from collsim.topology.spec import parse_topology

HERE = ("lang", "t", "view")  # about the page, not about the run


def trace_of(url):
    query = {k: v for k, v in parse_qsl(urlsplit(url).query) if k not in HERE}
    choice, complaints = from_query(query)
    assert complaints == [], f"{url}: {complaints}"
    if choice.on_machine:
        network = cs.machine(choice.place, nodes=choice.nodes, p2p=choice.p2p, gdr=choice.gdr, fabric=choice.fabric)
    else:
        network = parse_topology(network_text(choice), cs.topology.NETWORKS)
    return cs.simulate(cs.schedule(choice.algorithm, topology=network, **dict(choice.options)), network, choice.nbytes)
