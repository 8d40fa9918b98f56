"""The communication of inference: a prompt (prefill), a token (decode), and keys and values that move to other GPUs."""

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


def __dir__() -> list[str]:
    return sorted(__all__)
