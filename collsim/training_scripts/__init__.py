"""Training scripts of PyTorch and the commands that start them: what they do, and what is wrong or missing in them."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .findings import ScriptFinding
    from .reading import ScriptPart, ScriptReading, read_script
    from .step import ScriptStep, predict_step

__all__ = ["ScriptFinding", "ScriptPart", "ScriptReading", "ScriptStep", "predict_step", "read_script"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "findings": ("ScriptFinding",),
            "reading": ("ScriptPart", "ScriptReading", "read_script"),
            "step": ("ScriptStep", "predict_step"),
        },
    )
