"""Names of hosts and people, addresses and paths, replaced in evidence before it is read: nothing that is said of it
can then have them.

A name has the same stand-in wherever it is written, so that what differs still differs: `host1`, `user1`, numbered
identifiers. What is replaced is found by the places where tools print it: tags of logs, lists of devices, prompts,
variables, lines of syslog, folders of people, and domain names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import AddressValueError, IPv6Address
from pathlib import PurePath

from ..errors import CollsimError, Sentence, Words
from .fleet_nodes import name_nodes
from .job import list_tested_hosts

_NAME = r"[A-Za-z][\w.-]{0,80}"
#: Where texts have the name of a host.
_HOSTS = (
    re.compile(
        rf"^(?:\[[^\]\n]{{1,80}}\]\s*)?(?:\([^)\n]{{1,80}}\)\s*)?({_NAME}):\d{{1,10}}:\d{{1,10}} \[\d", re.MULTILINE
    ),
    re.compile(rf"[\w.-]{{1,60}}@({_NAME})"),
    re.compile(rf"\b(?:HOSTNAME|NODENAME|NCCL_HOSTID|[Hh]ost(?:name)?)(?:\s*[=:]\s*| set by environment to )({_NAME})"),
    re.compile(rf"^[A-Z][a-z]{{2}} {{1,2}}\d{{1,2}} [\d:]{{8}} ({_NAME}) ", re.MULTILINE),
    # pdsh, clush and srun -l put the host and a colon before each line; devices such as eth0 have no hyphen.
    re.compile(r"^((?!GPU)[A-Za-z][\w.]{0,60}-[\w.-]{0,60}): ", re.MULTILINE),
)
#: Where they have the name of a person.
_USERS = (
    re.compile(rf"({_NAME})@[A-Za-z]"),
    re.compile(rf"(?:/home/|/[Uu]sers/|\\Users\\)({_NAME})"),
    re.compile(rf"\b(?:USER|LOGNAME|[Uu]ser(?:name)?)\s*[=:]\s*({_NAME})"),
    re.compile(rf"\buid=\d{{1,10}}\(({_NAME})\)"),
)
#: Last words of domain names; those of two letters that are endings of files are none.
_DOMAIN = re.compile(
    r"(?<![\w.-])((?:[A-Za-z0-9-]{1,63}\.){1,6}"
    r"(?:com|org|net|edu|gov|mil|io|ai|cloud|dev|internal|local|lan|corp|intra|"
    r"home|svc|cluster|(?!so|py|sh|gz|xz|cc|cu|md|js|ts|rs|el|fc|rc)[a-z]{2}))(?![\w.-])"
)
_COMMON = frozenset(
    {"root", "user", "host", "hostname", "localhost", "nccl", "rccl", "name", "unknown", "none", "command"}
)
_IPV4 = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_COLONS = re.compile(r"[0-9A-Fa-f:]{4,45}(?:%\w{1,20})?")
_MAC = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5,19}[0-9A-Fa-f]{2}(?![\w:])")
_GUID = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{4}:){3}[0-9A-Fa-f]{4}(?![\w:])")
_LONG_HEX = re.compile(r"\b0x[0-9A-Fa-f]{14,16}\b")
_UUID = re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b")
#: Absolute paths but for those of the system.
_PATH = re.compile(
    r"(?<![\w/.:~])/(?!(?:dev|proc|sys|etc|usr|lib|lib64|bin|sbin)/)[\w.+@%~-]{1,200}(?:/[\w.+@%~-]{1,200}){1,60}"
)
_WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\[^\s\"'<>|]{1,400}")
#: Letters that a name needs for others of its form to count as hosts: `gpu-node-7` beside `gpu-node-12`.
_FEWEST_LETTERS = 3


class Anonymizer:
    """Stand-ins of names and addresses, the same in every text."""

    def __init__(self, texts: Iterable[str], names: Sequence[str] = (), hosts: Sequence[str] = ()) -> None:
        """Find the names.

        Args:
            texts: all evidence.
            names: of its files.
            hosts: that are known, in the order of their numbers.
        """
        self._identifiers: dict[str, int] = {}
        known = list(hosts)
        users: dict[str, None] = {}
        known += name_nodes([PurePath(name).name for name in names]).values()
        for text in texts:
            known += _find_hosts(text)
            users |= dict.fromkeys(match[1] for form in _USERS for match in form.finditer(text))
        self._hosts: dict[str, str] = {}
        for host in filter(_is_name, known):
            self._number_host(host)
        self._users = {user: f"user{number}" for number, user in enumerate(filter(_is_name, users), 1)}
        self._host_form = _join_forms([*self._hosts, *_generalize(self._hosts)], [*self._hosts])
        self._user_form = _join_forms([], [user for user in self._users if user not in self._hosts])

    def _number_host(self, host: str) -> str:
        """The stand-in of a host; its first label alone is the same host."""
        short = host.partition(".")[0]
        if host not in self._hosts:
            stand_in = self._hosts.get(short) or f"host{len(set(self._hosts.values())) + 1}"
            self._hosts[host] = stand_in
            if _is_name(short):
                self._hosts.setdefault(short, stand_in)
        return self._hosts[host]

    def mask(self, text: str) -> str:
        """Replace names, addresses and paths.

        Args:
            text: any.
        """
        text = _WINDOWS_PATH.sub("/path", _PATH.sub("/path", text))
        text = _MAC.sub(lambda match: self._number(match[0], "00:00:00:00:00:{:02x}"), text)
        text = _GUID.sub(lambda match: self._number(match[0], "0000:0000:0000:{:04x}"), text)
        text = _UUID.sub(lambda match: self._number(match[0], "00000000-0000-0000-0000-{:012x}"), text)
        text = _LONG_HEX.sub(lambda match: self._number(match[0], "0x{:016x}"), text)
        text = _COLONS.sub(self._mask_colons, text)
        text = _IPV4.sub("0.0.0.0", text)
        text = _DOMAIN.sub(lambda match: self._number_host(match[1]), text)
        text = self._host_form.sub(lambda match: self._number_host(match[0]), text)
        return self._user_form.sub(lambda match: self._users[match[0]], text)

    def mask_texts(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Replace them in texts and in the names of these; folders of the names become numbers.

        Args:
            texts: by the names of their files.
        """
        return {
            f"{number}/{self.mask(PurePath(name).name)}": self.mask(text)
            for number, (name, text) in enumerate(texts.items(), 1)
        }

    def mask_words(self, words: Words) -> Words:
        """Replace them in the values of a sentence.

        Args:
            words: of a note.
        """
        sentence = Sentence.from_words(words)
        values: dict[str, object] = {}
        for name, value in sentence.values.items():
            if isinstance(value, Sentence | CollsimError):
                value = self.mask_words(Sentence.from_words(value))
            elif isinstance(value, str):
                value = self.mask(value)
            values[name] = value
        return Sentence(sentence.key, **values)

    def _number(self, identifier: str, form: str) -> str:
        return form.format(self._identifiers.setdefault(identifier.lower(), len(self._identifiers) + 1))

    def _mask_colons(self, match: re.Match[str]) -> str:
        """IPv6 addresses; words before one may end in letters that are digits, too (`Gidfe80::1`)."""
        text, _, _ = match[0].partition("%")
        if text.count(":") < 2 or ("::" not in text and text.count(":") < 7):
            return match[0]
        for start in range(5):
            try:
                IPv6Address(text[start:].rstrip(":") if not text.endswith("::") else text[start:])
            except AddressValueError:
                continue
            return text[:start] + self._number(text[start:], "fd00::{:x}")
        return match[0]


def _find_hosts(text: str) -> Iterator[str]:
    yield from list_tested_hosts(text)
    for form in (*_HOSTS, _DOMAIN):
        yield from (match[1].rstrip(".") for match in form.finditer(text))


def _is_name(name: str) -> bool:
    return len(name) > 1 and name.lower() not in _COMMON and not name.isdigit()


def _generalize(hosts: Iterable[str]) -> Iterator[str]:
    """Forms of names with any numbers: hosts that only a message names are called like their neighbours."""
    for host in hosts:
        if sum(letter.isalpha() for letter in host) >= _FEWEST_LETTERS and any(map(str.isdigit, host)):
            yield re.sub(r"\d+", r"\\d{1,6}", re.escape(host))


def _join_forms(forms: Sequence[str], names: Sequence[str]) -> re.Pattern[str]:
    """Any of these as a whole word, the longest first, so that `node7-ib0` is not taken for `node7` with a tail."""
    escaped = sorted({re.escape(name) for name in names}, key=lambda name: -len(name))
    alternatives = "|".join([*escaped, *sorted(set(forms) - set(names), key=lambda form: -len(form))])
    return re.compile(rf"(?<![\w.-])(?:{alternatives or '(?!)'})(?![\w-])")
