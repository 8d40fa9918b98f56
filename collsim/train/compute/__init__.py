"""How long a GPU computes: from a catalogue of GPUs and few constants, or from what was measured."""

from .costs import Costs, costs
from .profile import Profile, read_profile
from .speeds import Speed, gpus, speed

__all__ = ["Costs", "Profile", "Speed", "costs", "gpus", "read_profile", "speed"]
