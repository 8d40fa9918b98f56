"""How much one client, and all clients together, may use of a server that is open to a class. Knows no Streamlit.

A client is an address on the network (of IPv6 its /64, of which one device has many addresses): a browser can give
itself another cookie, but no other address. Pages, uploads and join codes beyond the limits are refused. Messages and
requests wait, so that a client that sends too many of them is slow and the others are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from cachetools import LRUCache

#: The client of whoever sits at this computer; no limit applies to it.
LOCAL = ""
#: Clients that are remembered at a time; those without a page are forgotten first.
MAX_CLIENTS = 2_000
#: Seconds for which a client without a page is remembered after it last did anything. Its limits begin anew when it is
#: forgotten: by then each of them has recovered.
FORGOTTEN = 180.0
#: Seconds for which a request waits at most.
LONGEST_DELAY = 15.0


@dataclass(frozen=True)
class ClientLimits:
    """What one client and all clients together may use. Those per page are multiplied by `pages`.

    Attributes:
        pages: that one client has open at a time.
        pages_in_all: of all clients.
        openings_per_page: how often a minute a page can be opened again; a page costs the server something before its
            script runs for the first time.
        requests_per_page: requests over HTTP per second.
        requests_at_once_per_page: so many requests at once besides. A browser that has nothing of the app stored makes
            80 to 147 to load a page (counted with Chromium).
        messages_per_page: messages of pages per second, each of which may run the script again.
        messages_at_once_per_page: so many messages at once besides.
        heavy_messages_per_page: as `messages_per_page`, of a client that has used more than its budget of processor
            seconds (`rerun_queue`).
        messages_in_all: messages per second of all clients. A page that waits for a long computation sends 2.5.
        upload_bytes: of one client at a time.
        upload_bytes_in_all: of all clients.
        wrong_codes: wrong join codes per minute and at once, of one client. Several people may share an address, so
            that one who does not know the code must not keep the others out. Whoever tries all codes of six letters
            (47,045,881) from one address needs 136 days for half of them, and 27 days from all addresses.
        wrong_codes_of_browser: the same of one browser, as far as it keeps its cookie.
        wrong_codes_in_all: the same of all clients.
    """

    pages: int = 12
    pages_in_all: int = 240
    openings_per_page: float = 5.0
    requests_per_page: float = 4.0
    requests_at_once_per_page: int = 160
    messages_per_page: float = 0.5
    messages_at_once_per_page: int = 5
    heavy_messages_per_page: float = 1 / 24
    messages_in_all: float = 120.0
    upload_bytes: int = 32 * 2**20
    upload_bytes_in_all: int = 512 * 2**20
    wrong_codes: int = 120
    wrong_codes_of_browser: int = 20
    wrong_codes_in_all: int = 600


class LeakyBucket:
    """Limits how often something happens: `rate` times a second, and `burst` times at once (ITU-T I.371, generic cell
    rate algorithm)."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]):
        """A full bucket.

        Args:
            rate: Takes a second in the long run.
            burst: Takes at once after a pause.
            clock: Monotonic, in s.
        """
        self._interval, self._tolerance, self._clock = 1.0 / rate, (burst - 1) / rate, clock
        self._due = clock() - self._tolerance

    def take(self) -> float:
        """Count one; return the seconds until it may happen."""
        now = self._clock()
        start = max(self._due, now - self._tolerance)
        self._due = start + self._interval
        return max(0.0, start - now)

    @property
    def delay(self) -> float:
        """Seconds until one more may happen."""
        return max(0.0, self._due - self._clock())


@dataclass
class Client:
    """One client, which is one address.

    Attributes:
        openings: Limits how often it opens a connection.
        requests: Limits its HTTP requests.
        messages: Limits the messages of its pages.
        heavy_messages: Limits messages that let a page compute.
        wrong_codes: Limits how often it may enter a wrong join code.
        last_seen: When it last did anything, in seconds of the clock.
        pages: How many pages it has open.
    """

    openings: LeakyBucket
    requests: LeakyBucket
    messages: LeakyBucket
    heavy_messages: LeakyBucket
    wrong_codes: LeakyBucket
    last_seen: float
    pages: int = 0


class Clients:
    """All clients of a server. Used from its event loop only.

    Args:
        limits: of each client and of all.
        clock: returns the time, s.
        is_heavy: whether a client has used more than its budget of processor seconds.
    """

    def __init__(
        self,
        limits: ClientLimits = ClientLimits(),
        clock: Callable[[], float] = time.monotonic,
        is_heavy: Callable[[str], bool] = lambda client_id: False,
    ):
        self.limits, self._clock, self._is_heavy = limits, clock, is_heavy
        self._clients: dict[str, Client] = {}
        self._messages = self._build_bucket(limits.messages_in_all, int(limits.messages_in_all))
        self._wrong_codes = self._build_code_bucket(limits.wrong_codes_in_all)
        self._browsers: MutableMapping[str, LeakyBucket] = LRUCache(MAX_CLIENTS)

    def open_page(self, client_id: str) -> bool:
        """Count one more page; False where this client, or the server, has as many as it may, or opens them too
        often.

        Args:
            client_id: Of `identify_client`.
        """
        client = self._find(client_id)
        if client is None or self.is_full(client_id) or client.openings.delay > 0:
            return False
        client.openings.take()
        client.pages += 1
        return True

    def is_full(self, client_id: str) -> bool:
        """Whether one more page would be too many."""
        client = self._find(client_id)
        return client is None or client.pages >= self.limits.pages or self.pages >= self.limits.pages_in_all

    def close_page(self, client_id: str) -> None:
        """Count one page less."""
        client = self._clients[client_id]
        client.pages, client.last_seen = client.pages - 1, self._clock()

    @property
    def pages(self) -> int:
        """How many pages all clients have open."""
        return sum(client.pages for client in self._clients.values())

    def pace_request(self, client_id: str) -> float | None:
        """Count a request over HTTP; return the seconds for which it waits, or None where that is too long.

        Args:
            client_id: Of `identify_client`.
        """
        client = self._find(client_id)
        if client is None or client.requests.delay > LONGEST_DELAY:
            return None
        return client.requests.take()

    def pace_message(self, client_id: str) -> float:
        """Count a message of a page; return the seconds for which it waits."""
        client = self._clients[client_id]
        delay = max(client.messages.take(), self._messages.take())
        return max(delay, client.heavy_messages.take()) if self._is_heavy(client_id) else delay

    def may_try_code(self, client_id: str, browser: str) -> bool:
        """Whether this client and this browser, given by its cookie, may try a join code."""
        return not any(bucket.delay > 0 for bucket in self._find_code_buckets(client_id, browser))

    def count_wrong_code(self, client_id: str, browser: str) -> None:
        """Count one wrong join code."""
        for bucket in self._find_code_buckets(client_id, browser):
            bucket.take()

    def _find_code_buckets(self, client_id: str, browser: str) -> list[LeakyBucket]:
        client = self._find(client_id)
        buckets = [self._wrong_codes] if client is None else [self._wrong_codes, client.wrong_codes]
        if browser:
            if browser not in self._browsers:
                self._browsers[browser] = self._build_code_bucket(self.limits.wrong_codes_of_browser)
            buckets.append(self._browsers[browser])
        return buckets

    def _find(self, client_id: str) -> Client | None:
        """Return the client of an address; None where too many are remembered."""
        self._forget_clients()
        if client_id not in self._clients:
            if len(self._clients) >= MAX_CLIENTS:
                return None
            self._clients[client_id] = self._build_client()
        client = self._clients[client_id]
        client.last_seen = self._clock()
        return client

    def _build_client(self) -> Client:
        limits, pages = self.limits, self.limits.pages
        return Client(
            openings=self._build_bucket(limits.openings_per_page * pages / 60.0, 2 * pages),
            requests=self._build_bucket(limits.requests_per_page * pages, limits.requests_at_once_per_page * pages),
            messages=self._build_bucket(limits.messages_per_page * pages, limits.messages_at_once_per_page * pages),
            heavy_messages=self._build_bucket(limits.heavy_messages_per_page * pages, 1),
            wrong_codes=self._build_code_bucket(limits.wrong_codes),
            last_seen=self._clock(),
        )

    def _build_bucket(self, rate: float, burst: int) -> LeakyBucket:
        return LeakyBucket(rate, burst, self._clock)

    def _build_code_bucket(self, per_minute: int) -> LeakyBucket:
        return self._build_bucket(per_minute / 60.0, per_minute)

    def _forget_clients(self) -> None:
        now = self._clock()
        for client_id, client in list(self._clients.items()):
            if not client.pages and now - client.last_seen > FORGOTTEN:
                del self._clients[client_id]


def identify_client(host: str) -> str:
    """Return the client that a network address belongs to: the address, or the /64 of an IPv6 address.

    Args:
        host: An IP address as the server sees it, with or without a zone; any other text is a client of its own.

    Examples:
        >>> identify_client("2001:db8:1:2:aaaa::1")
        '2001:db8:1:2::/64'
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return f"{IPv6Address(int(address) >> 64 << 64)}/64"
        address = address.ipv4_mapped
    return str(address)
