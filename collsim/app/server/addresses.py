"""Where the server listens, and the addresses under which others reach this computer."""

from __future__ import annotations

import contextlib
import socket
from ipaddress import IPv6Address, ip_address

import psutil
from streamlit import config

#: An address of TEST-NET-3 (RFC 5737), which nobody has: the route to it shows our address, and nothing is sent.
_TEST_ADDRESS = ("203.0.113.1", 9)
_ANY = "0.0.0.0"


def listens_on_loopback() -> bool:
    """Whether only this computer reaches the server, as `server.address` is configured in the process that calls."""
    return is_loopback(config.get_option("server.address") or _ANY)


def is_loopback(host: str) -> bool:
    """Whether a computer reaches itself by this name or address: `localhost`, 127.0.0.0/8 or ::1.

    Args:
        host: A name or an IP address, IPv6 in brackets or not.
    """
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def build_local_url() -> str:
    """Return the address of the app on this computer, with a slash at its end."""
    return _build_url("localhost")


def list_class_urls() -> list[str]:
    """Return the addresses under which others find the app, the likeliest first; only `browser.serverAddress` where it
    is set."""
    if config.is_manually_set("browser.serverAddress"):
        return [_build_url(str(config.get_option("browser.serverAddress")))]
    bound = str(config.get_option("server.address") or _ANY)
    if bound not in (_ANY, "::"):
        return [_build_url(bound)]
    return [_build_url(host) for host in list_addresses() or [socket.gethostname()]]


def list_addresses() -> list[str]:
    """Return the IPv4 addresses of this computer on interfaces that are up, the one of the default route first."""
    active = {name for name, state in psutil.net_if_stats().items() if state.isup}
    addresses = [
        entry.address
        for name, entries in psutil.net_if_addrs().items()
        for entry in entries
        if name in active and entry.family == socket.AF_INET
    ]
    public = [text for text in addresses if not ip_address(text).is_loopback and not ip_address(text).is_link_local]
    default = _find_default_address()
    return sorted(dict.fromkeys(public), key=lambda text: text != default)


def _find_default_address() -> str:
    """Return our address on the default route, or an empty text. Nothing is sent: a UDP socket looks the route up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(_TEST_ADDRESS)
        return str(probe.getsockname()[0])
    return ""


def _build_url(host: str) -> str:
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    netloc = f"[{host}]" if ":" in host else host
    return f"{scheme}://{netloc}:{config.get_option('server.port')}{get_base_path()}/"


def get_base_path() -> str:
    """Return the path before all paths of the app, such as `/lab`; empty where there is none."""
    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""
