"""Results of computations, as pickles, for all sessions."""

from __future__ import annotations

import pickle
import threading
from operator import itemgetter

from cachetools import LRUCache

from .computation import JobKey

#: Bytes of the results of all sessions together and of the arguments that they were computed from (a file may be among
#: those); the least recently used go first.
CACHE_BYTES = 96 * 2**20


class ResultCache:
    """Stores results; used from all threads.

    Args:
        capacity: bytes of the results and of their arguments.
    """

    def __init__(self, capacity: int = CACHE_BYTES):
        self._lock = threading.Lock()
        self._results: LRUCache[JobKey, tuple[bytes, int]] = LRUCache(capacity, getsizeof=itemgetter(1))

    def get(self, key: JobKey) -> bytes | None:
        """Return a result, or None where it is not stored."""
        with self._lock:
            return self._results.get(key, (None, 0))[0]

    def put(self, key: JobKey, result: bytes) -> None:
        """Store a result. One that is larger than the whole cache stays with whoever wanted it.

        Args:
            key: Of the job.
            result: Pickled.
        """
        size = len(result) + len(pickle.dumps(key))
        with self._lock:
            if size <= self._results.maxsize:
                self._results[key] = result, size

    @property
    def nbytes(self) -> int:
        """Bytes that are stored."""
        with self._lock:
            return int(self._results.currsize)
