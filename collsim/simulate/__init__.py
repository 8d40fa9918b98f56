"""Simulate moves time: when does each transfer of a schedule start and arrive, and how busy is every link?"""

from .run import ENGINES, simulate
from .trace import Bottleneck, Trace

__all__ = ["ENGINES", "Bottleneck", "Trace", "simulate"]
