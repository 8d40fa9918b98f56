"""How far a prediction is from a measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

#: Bands of sizes, bytes: name, from, below. Latency decides the small ones, bandwidth the large.
BANDS = (("16 MiB and more", 2**24, 2**62), ("64 KiB to 16 MiB", 2**16, 2**24), ("below 64 KiB", 0, 2**16))


@overload
def compute_relative_error(ratio: float) -> float: ...


@overload
def compute_relative_error(ratio: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...


@overload
def compute_relative_error(ratio: pd.Series[float]) -> pd.Series[float]: ...


def compute_relative_error(
    ratio: float | npt.NDArray[np.float64] | pd.Series[float],
) -> float | npt.NDArray[np.float64] | pd.Series[float]:
    """Compute how far ratios of predicted to measured time are from 1, whichever way.

    max(ratio, 1 / ratio) - 1, so that half and twice the time are both 1 (100 %); the distance of the ratio itself
    would call a prediction of a tenth of the time off by 90 % and one of ten times the time off by 900 %.

    Args:
        ratio: a ratio, an array or a column of them, each above 0.

    Returns:
        The errors in the same shape: 0.1 is 10 %.

    Examples:
        >>> [round(float(compute_relative_error(ratio)), 6) for ratio in (0.5, 1.0, 2.0)]
        [1.0, 0.0, 1.0]
    """
    return np.expm1(np.abs(np.log(ratio)))
