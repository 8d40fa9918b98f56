"""Where the server listens, and under which addresses this computer is reached."""

from __future__ import annotations

import contextlib
import socket
from ipaddress import ip_address

import psutil
from streamlit import config

#: Of TEST-NET-3 (RFC 5737), which is nobody's: asked for the route there, a system names its own address, and sends
#: nothing.
_NOBODY = ("203.0.113.1", 9)


def listens_on_loopback() -> bool:
    """Can only this computer reach the server? To be asked in its own process: `server.address` as configured there."""
    return is_loopback(config.get_option("server.address") or "0.0.0.0")


def is_loopback(host: str) -> bool:
    """Is this the name or address by which a computer reaches itself: `localhost`, 127.0.0.0/8 or ::1?"""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def url_here() -> str:
    """The address of the app on this computer, with a slash at its end."""
    return _url("localhost")


def urls_of_the_room() -> list[str]:
    """The addresses under which others find the app, the likeliest first; `browser.serverAddress` where it is set."""
    if config.is_manually_set("browser.serverAddress"):
        return [_url(str(config.get_option("browser.serverAddress")))]
    bound = str(config.get_option("server.address") or "0.0.0.0")
    return [
        _url(host) for host in ([bound] if bound not in ("0.0.0.0", "::") else addresses() or [socket.gethostname()])
    ]


def addresses() -> list[str]:
    """The IPv4 addresses of this computer on cables and radios that are up, the one of the default route first."""
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    found = [
        entry.address
        for name, entries in psutil.net_if_addrs().items()
        for entry in entries
        if name in up and entry.family == socket.AF_INET
    ]
    default = _default()
    found = [one for one in found if not ip_address(one).is_loopback and not ip_address(one).is_link_local]
    return sorted(dict.fromkeys(found), key=lambda one: one != default)


def _default() -> str:
    """Our address on the default route; empty without one. Nothing is sent: a UDP socket only looks the route up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(_NOBODY)
        return str(probe.getsockname()[0])
    return ""


def _url(host: str) -> str:
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{config.get_option('server.port')}/{base + '/' if base else ''}"
