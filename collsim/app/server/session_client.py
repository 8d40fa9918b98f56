"""Which client the page belongs to whose script is running."""

from __future__ import annotations

import streamlit as st
from streamlit import runtime

from .access_control import CLIENT_HEADER
from .clients import LOCAL

#: The client of a page whose connection has gone: it is never taken for this computer.
UNKNOWN = "unknown"


def get_session_client() -> str:
    """Return the client of the page whose script calls this: `LOCAL` for whoever sits at this computer, else an address
    on the network, as access control has seen it. Without a server, in a script that is tested, it is `LOCAL`.

    Examples:
        >>> get_session_client()
        ''
    """
    if not runtime.exists():
        return LOCAL
    return st.context.headers.get(CLIENT_HEADER, UNKNOWN)


def is_local_session() -> bool:
    """Whether the page whose script calls this belongs to whoever sits at this computer."""
    return get_session_client() == LOCAL
