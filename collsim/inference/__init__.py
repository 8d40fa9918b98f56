"""The communication of inference: a prompt (prefill), a token (decode), and keys and values that move to other GPUs."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .kv_cache import KvTransfer, count_kv_bytes, simulate_kv_transfer
    from .token_times import InferenceCall, InferencePhase, InferenceTimes, time_inference

__all__ = [
    "InferenceCall",
    "InferencePhase",
    "InferenceTimes",
    "KvTransfer",
    "count_kv_bytes",
    "simulate_kv_transfer",
    "time_inference",
]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "kv_cache": ("KvTransfer", "count_kv_bytes", "simulate_kv_transfer"),
            "token_times": ("InferenceCall", "InferencePhase", "InferenceTimes", "time_inference"),
        },
    )
