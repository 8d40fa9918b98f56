"""A small site, built once."""

import pytest

from collsim.site import build_site
from collsim.site.gallery import NETWORKS

SOME = ("allreduce_ring", "allreduce_double_binary_tree", "allreduce_parameter_server", "broadcast_chain")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A site with four algorithms on three networks."""
    shown = ("switch", "pcie-8gpu~no-p2p", "dgx-a100~2x")
    networks = [network for network in NETWORKS if network.key in shown]
    return build_site(tmp_path_factory.mktemp("stick") / "site", networks=networks, only=SOME)
