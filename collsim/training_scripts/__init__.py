"""Training scripts of PyTorch and the commands that start them: what they do, and what is wrong or missing in them."""

from .findings import ScriptFinding
from .reading import ScriptPart, ScriptReading, read_script
from .step import ScriptStep, predict_step

__all__ = ["ScriptFinding", "ScriptPart", "ScriptReading", "ScriptStep", "predict_step", "read_script"]


def __dir__() -> list[str]:
    return sorted(__all__)
