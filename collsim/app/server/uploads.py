"""How much each client has uploaded: what Streamlit stores, and what is on its way there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

#: Bytes that a file counts at least: storing an empty one takes memory, too.
MIN_CHARGE = 64 * 2**10


def measure_stored_file(session: str, file: str) -> int | None:
    """Return the bytes of a file that Streamlit stores for a session, or None where it stores no such file.

    Args:
        session: Of Streamlit.
        file: Streamlit's id of the file.
    """
    if not runtime.exists():
        return None
    files = runtime.get_instance().uploaded_file_mgr.get_files(session, [file])
    return len(files[0].data) if files else None


def remove_orphan(session: str, file: str) -> None:
    """Remove a file that arrived after its page had gone: Streamlit removes a page's files when the page goes, and
    would store this one until the server ends.

    Args:
        session: Of Streamlit; while it is active nothing is removed.
        file: Streamlit's id of the file.
    """
    if not runtime.exists() or runtime.get_instance().is_active_session(session):
        return
    manager = runtime.get_instance().uploaded_file_mgr
    if isinstance(manager, MemoryUploadedFileManager):
        manager.remove_file(session, file)


class UploadQuota:
    """Limits the bytes of uploaded files. Only files that Streamlit stores count, and requests that are under way: one
    that it refuses, a file that is taken back and one whose page is gone count no longer. Used from the server's event
    loop only.

    Args:
        per_client: bytes of one client.
        total: bytes of all clients.
        measure: returns the bytes of a stored file, given its session and its name there, or None.
    """

    def __init__(self, per_client: int, total: int, measure: Callable[[str, str], int | None] = measure_stored_file):
        self._per_client, self._total, self._measure = per_client, total, measure
        self._owners: dict[tuple[str, str], str] = {}
        self._under_way = Counter[str]()

    def reserve(self, client: str, nbytes: int) -> bool:
        """Count a request that begins; False where its client, or all clients together, have no room for it.

        Args:
            client: Of `identify_client`.
            nbytes: Length that the request announces; at least `MIN_CHARGE` is counted.
        """
        charge = max(nbytes, MIN_CHARGE)
        used = self._measure_used()
        if used[client] + charge > self._per_client or used.total() + charge > self._total:
            return False
        self._under_way[client] += charge
        return True

    def settle(self, client: str, nbytes: int, session: str, file: str) -> None:
        """Count a request no longer, but the file that Streamlit stored of it, if it did.

        Args:
            client: As in `reserve`.
            nbytes: As in `reserve`.
            session: Of Streamlit.
            file: Streamlit's id of the file.
        """
        self._under_way[client] -= max(nbytes, MIN_CHARGE)
        if not self._under_way[client]:
            del self._under_way[client]
        remove_orphan(session, file)
        if self._measure(session, file) is not None:
            self._owners[session, file] = client

    def _measure_used(self) -> Counter[str]:
        """Return the bytes of each client, and forget files that are stored no longer."""
        used = Counter(self._under_way)
        for key, client in list(self._owners.items()):
            nbytes = self._measure(*key)
            if nbytes is None:
                del self._owners[key]
            else:
                used[client] += max(nbytes, MIN_CHARGE)
        return used
