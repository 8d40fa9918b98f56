"""Simulate moves time: when does each transfer of a schedule start and arrive, and how busy is every link?"""

from .concurrent_results import ConcurrentTrace, FlowTrace, MergedTrace
from .conditions import ENGINES, SHARING, Engine, Flows
from .link_usage import Usage
from .ordered import Launch, OrderedRun, simulate_ordered
from .run import Cost, expected_cost, simulate_flows
from .run import simulate as simulate
from .run import simulate_many as simulate_many
from .trace import Bottleneck
from .trace import Trace as Trace

__all__ = [
    "ENGINES",
    "SHARING",
    "Bottleneck",
    "ConcurrentTrace",
    "Cost",
    "Engine",
    "FlowTrace",
    "Flows",
    "Launch",
    "MergedTrace",
    "OrderedRun",
    "Usage",
    "expected_cost",
    "simulate_flows",
    "simulate_ordered",
]
