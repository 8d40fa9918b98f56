"""The run that a link into the app opens."""

from urllib.parse import parse_qsl, urlsplit

import collsim as cs
from collsim.app.scenario.choice import WORDS, from_query, list_own_options, name_option_key, write_network
from collsim.app.scenario.panels import ADDRESS
from collsim.topology.spec import parse_topology

HERE = ("lang", "t", "view")  # about the page, not about the run


def panels_of(url):
    """The question or the mistake that a link opens with."""
    panels, complaints = ADDRESS.read(dict(parse_qsl(urlsplit(url).query)))
    assert complaints == [], f"{url}: {complaints}"
    return panels


def trace_of(url):
    query = {k: v for k, v in parse_qsl(urlsplit(url).query) if k not in HERE}
    panels_of(url)
    unknown = set(query) - {
        *WORDS,
        *(word.name for word in ADDRESS.words),
        *map(name_option_key, list_own_options(query["algorithm"])),
    }
    assert not unknown, f"{url}: nothing reads {unknown}"
    choice, complaints = from_query(query)
    assert complaints == [], f"{url}: {complaints}"
    if choice.on_machine:
        network = cs.machine(choice.machine, nodes=choice.nodes, p2p=choice.p2p, gdr=choice.gdr, fabric=choice.fabric)
    else:
        network = parse_topology(write_network(choice), cs.topology.NETWORKS)
    return cs.simulate(cs.schedule(choice.algorithm, topology=network, **dict(choice.options)), network, choice.nbytes)
