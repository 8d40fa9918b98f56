"""How much one client, and all of them together, may ask of a server that is open to a room. Knows no Streamlit.

A client is an address on the network (of IPv6 its /64, of which one device has many addresses); a browser cannot give
itself another one as it can a cookie. Sessions, uploads and tries of the join code beyond the limits are refused;
reruns are not: they wait, so that a page that asks too often gets slow and nobody else's does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from cachetools import LRUCache

#: The client of whoever sits at this computer; no limit applies to it.
LOCAL = ""
#: Addresses that are remembered at a time; those without a page are forgotten first.
MOST_CLIENTS = 2_000
#: Seconds for which a client without a page is remembered after it last did anything. Its limits begin anew when it is
#: forgotten: by then each of them has recovered.
FORGOTTEN = 180.0


@dataclass(frozen=True)
class ClientLimits:
    """What one client and all together may ask for.

    Attributes:
        tabs: pages that one client has open at a time; all: of all clients.
        opened: how often a minute each page that a client may have open can be opened again; a page costs the server
        something before its first rerun.
        reruns: of the script per second, for each page that a client may have open; burst: so many at once besides.
        heavy_reruns: as `reruns`, of a client that has used more than its budget of processor seconds (`rerun_queue`).
        reruns_in_all: per second, of all clients. A page that waits for a long computation asks 2.5 times a second.
        upload_bytes: of one client at a time; upload_bytes_in_all: of all.
        wrong_codes: wrong join codes per minute and at once, of one client; wrong_codes_of_browser: of one browser, as
            far as it keeps its cookie; wrong_codes_in_all: of all clients. Several people may share an address, so
            that one who does not know the code must not keep the others out. Whoever tries all codes of six letters
            (47,045,881) from one address needs 136 days for half of them, and 27 days from all addresses.
    """

    tabs: int = 12
    all: int = 240
    opened: float = 5.0
    reruns: float = 0.5
    burst: int = 5
    heavy_reruns: float = 1 / 24
    reruns_in_all: float = 120.0
    upload_bytes: int = 32 * 2**20
    upload_bytes_in_all: int = 512 * 2**20
    wrong_codes: int = 120
    wrong_codes_of_browser: int = 20
    wrong_codes_in_all: int = 600


class LeakyBucket:
    """Limits how often something happens: `rate` times a second, and `burst` times at once (ITU-T I.371, generic cell
    rate algorithm)."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]):
        self._interval, self._tolerance, self._clock = 1.0 / rate, (burst - 1) / rate, clock
        self._due = clock() - self._tolerance

    def take(self) -> float:
        """Count one; return the seconds until it may happen."""
        now = self._clock()
        start = max(self._due, now - self._tolerance)
        self._due = start + self._interval
        return max(0.0, start - now)

    def is_free(self) -> bool:
        """Whether one more may happen at once."""
        return self._due <= self._clock()


@dataclass
class Client:
    """One address: how many pages it has open, and when it last did anything."""

    opens: LeakyBucket
    messages: LeakyBucket
    heavy_messages: LeakyBucket
    wrong_codes: LeakyBucket
    last_seen: float
    tabs: int = 0


class Clients:
    """All clients of a server. Used from its event loop only."""

    def __init__(
        self,
        limits: ClientLimits = ClientLimits(),
        clock: Callable[[], float] = time.monotonic,
        is_heavy: Callable[[str], bool] = lambda client: False,
    ):
        self.limits, self._clock, self._is_heavy = limits, clock, is_heavy
        self._known: dict[str, Client] = {}
        self._messages = LeakyBucket(limits.reruns_in_all, int(limits.reruns_in_all), clock)
        self._wrong_codes = self._build_code_bucket(limits.wrong_codes_in_all)
        self._browsers: MutableMapping[str, LeakyBucket] = LRUCache(MOST_CLIENTS)

    def open_page(self, client_id: str) -> bool:
        """Count one more page; False where this client, or the server, has as many as it may, or opens them too
        often."""
        client = self._client(client_id)
        if client is None or self.is_full(client_id) or not client.opens.is_free():
            return False
        client.opens.take()
        client.tabs += 1
        return True

    def is_full(self, client_id: str) -> bool:
        """Whether one more page would be too many."""
        client = self._client(client_id)
        return client is None or client.tabs >= self.limits.tabs or self.tabs >= self.limits.all

    def close_page(self, client_id: str) -> None:
        """Count one page less."""
        client = self._known[client_id]
        client.tabs, client.last_seen = client.tabs - 1, self._clock()

    @property
    def tabs(self) -> int:
        """How many pages all clients have open."""
        return sum(client.tabs for client in self._known.values())

    def pace_message(self, client_id: str) -> float:
        """Count a message of a page; return the seconds for which it waits."""
        client = self._known[client_id]
        delay = max(client.messages.take(), self._messages.take())
        return max(delay, client.heavy_messages.take()) if self._is_heavy(client_id) else delay

    def may_try_code(self, client_id: str, browser: str) -> bool:
        """Whether this client and this browser, given by its cookie, may try a join code."""
        return all(bucket.is_free() for bucket in self._find_code_buckets(client_id, browser))

    def count_wrong_code(self, client_id: str, browser: str) -> None:
        """Count one wrong join code."""
        for bucket in self._find_code_buckets(client_id, browser):
            bucket.take()

    def _find_code_buckets(self, client_id: str, browser: str) -> list[LeakyBucket]:
        client = self._client(client_id)
        buckets = [self._wrong_codes] if client is None else [self._wrong_codes, client.wrong_codes]
        if browser:
            if browser not in self._browsers:
                self._browsers[browser] = self._build_code_bucket(self.limits.wrong_codes_of_browser)
            buckets.append(self._browsers[browser])
        return buckets

    def _build_code_bucket(self, per_minute: int) -> LeakyBucket:
        return LeakyBucket(per_minute / 60.0, per_minute, self._clock)

    def _client(self, client_id: str) -> Client | None:
        """The client of an address; None where too many are remembered."""
        self._sweep()
        if client_id not in self._known:
            if len(self._known) >= MOST_CLIENTS:
                return None
            of_one = self.limits.tabs
            opens = LeakyBucket(self.limits.opened * of_one / 60.0, 2 * of_one, self._clock)
            reruns = LeakyBucket(self.limits.reruns * of_one, self.limits.burst * of_one, self._clock)
            heavy_messages = LeakyBucket(self.limits.heavy_reruns * of_one, 1, self._clock)
            wrong_codes = self._build_code_bucket(self.limits.wrong_codes)
            self._known[client_id] = Client(opens, reruns, heavy_messages, wrong_codes, self._clock())
        client = self._known[client_id]
        client.last_seen = self._clock()
        return client

    def _sweep(self) -> None:
        now = self._clock()
        for client_id, client in list(self._known.items()):
            if not client.tabs and now - client.last_seen > FORGOTTEN:
                del self._known[client_id]


def identify_client(host: str) -> str:
    """Return the client that a network address belongs to: the address, or the /64 of an IPv6 address."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return f"{IPv6Address(int(address) >> 64 << 64)}/64"
        address = address.ipv4_mapped
    return str(address)
