"""Facts of NCCL's and RCCL's logs.

The forms are those of NVIDIA/nccl v2.18 to v2.30 (src/misc/param.cc, src/init.cc, src/transport/*.cc, src/graph/*.cc)
and ROCm/rccl (src/init.cc). A line is looked for in any order and behind any tag, as lines of several ranks are mixed.
What a log does not print proves nothing unless its subsystem was logged, so that only stated things are facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...package_data import read_toml

#: Line number from 1, kind of the fact, its value.
Stated = tuple[int, str, object]

_CARDS = re.compile(r"\[\d{1,4}\] ?([^\s\[\]{}:/=]{1,60})", re.ASCII)
_HOST = re.compile(r"(?:^|>:|[\s>)\]|])([\w.-]{1,80}):\d{1,10}:\d{1,10} \[\d{1,4}\] NCCL ", re.ASCII)
_ESCAPE = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_VIA = re.compile(
    r"Channel \d{1,4}(?:/\d{1,4})? : \d{1,7}\[[0-9a-f]{1,8}\] -> \d{1,7}\[[0-9a-f]{1,8}\].{0,12} via (\S{1,80})"
)


@dataclass(frozen=True)
class LoggedChoice:
    """What NCCL logged that it chose for a call.

    Attributes:
        nbytes: bytes of the call.
        algorithm: the name that nccl-tests and `predict` print.
        protocol: the name that nccl-tests and `predict` print.
    """

    nbytes: int
    algorithm: str
    protocol: str


#: Names of algorithms and protocols in the order of NCCL's numbers, which logs print until 2.22 (src/include/info.h).
_ALGORITHMS = ("Tree", "Ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT")
_PROTOCOLS = ("LL", "LL128", "Simple")


def _read_choice(match: re.Match[str]) -> LoggedChoice:
    return LoggedChoice(int(match[1]), _name_choice(match[2], _ALGORITHMS), _name_choice(match[3], _PROTOCOLS))


def _name_choice(word: str, names: Sequence[str]) -> str:
    """The name of a number, or of a word in capitals; what is unknown stays as it is."""
    if word.isdigit():
        return dict(enumerate(names)).get(int(word), word)
    return next((name for name in names if name.upper() == word.upper().replace("_", "")), word)


@dataclass(frozen=True)
class LineForm:
    """A line that states something.

    Attributes:
        kind: of the fact.
        word: what every such line has; looking for it first is many times faster than the pattern.
        pattern: of the line.
        read: makes the value.
    """

    kind: str
    word: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], object]


_READERS: dict[str, Callable[[re.Match[str]], object]] = {
    "text": lambda match: match[1].strip(),
    "texts": lambda match: match.groups(),
    "number": lambda match: int(match[1]),
    "counts": lambda match: tuple(map(int, match.groups())),
    "enabled": lambda match: match[1] == "Enabled",
    "present": lambda match: match[1] is not None,
    "absent": lambda match: match[1] is None,
    "flag": lambda match: match[1] == "1",
    "variable": lambda match: (match[1], match[2]),
    "cards": lambda match: tuple(_CARDS.findall(match[1].partition("; OOB")[0])),
    "choice": _read_choice,
}


def load_line_forms(module: str, name: str, tool: str | None = None) -> tuple[LineForm, ...]:
    """Load forms of lines from a table that lies next to a module.

    Args:
        module: its `__file__`.
        name: of the table, whose lines have the word of a reader (`read`), or a value.
        tool: whose lines alone are taken; None for all.
    """
    rows = (row for row in read_toml(module, name)["line"] if row.get("tool") == tool)
    return tuple(
        LineForm(
            row["kind"],
            row.get("word", ""),
            re.compile(row["pattern"]),
            _READERS[row["read"]] if "read" in row else partial(_return_value, row["value"]),
        )
        for row in rows
    )


def _return_value(value: object, match: re.Match[str]) -> object:
    return value


def read_line(forms: Sequence[LineForm], number: int, line: str) -> Iterator[Stated]:
    """Read what a line states.

    Args:
        forms: to look for.
        number: of the line.
        line: without its end.

    Yields:
        A fact for each form that it has.
    """
    for form in forms:
        if form.word in line and (match := form.pattern.search(line)) is not None:
            yield number, form.kind, form.read(match)


_FORMS = load_line_forms(__file__, "nccl_log_lines.toml")
#: Characters of a log that are split into lines at once, and heads of lines whose host is remembered.
_BLOCK, _MAX_HEADS = 2**20, 4_096


def iterate_lines(text: str) -> Iterator[str]:
    """Split a text into the lines of `str.splitlines`, a part of it at a time: a log has millions of lines.

    Args:
        text: of any length.

    Yields:
        Each line, without its end.
    """
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _BLOCK) + 1 or len(text)
        yield from text[begin:end].splitlines()
        begin = end


def read_log_facts(lines: Iterable[str]) -> Iterator[Stated]:
    """Read what a log states.

    Args:
        lines: of the log.

    Yields:
        Facts; each transport and each host once.
    """
    transports: set[str] = set()
    hosts: set[str] = set()
    heads: set[str] = set()
    is_log = False
    for number, line in _list_messages(lines):
        # Words of other programs may look like facts of NCCL, so nothing counts before its first line.
        is_log = is_log or " NCCL INFO " in line or " NCCL WARN " in line or "CCL version" in line
        if not is_log:
            continue
        # A cheap test for the substring before the regular expression: most lines have none.
        if " via " in line and (via := _VIA.search(line)) is not None:
            transport = name_transport(via[1])
            if transport not in transports:
                transports.add(transport)
                yield number, "nccl.transport", transport
            continue
        # A process begins all of its lines alike, and the expression is slow.
        head = line.partition(" NCCL ")[0]
        if head not in heads and (host := _HOST.search(line)) is not None:
            if host.end() == len(head) + len(" NCCL ") and len(heads) < _MAX_HEADS:
                heads.add(head)
            if host[1] not in hosts:
                hosts.add(host[1])
                yield number, "nccl.host", host[1]
        yield from read_line(_FORMS, number, line)


def _list_messages(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines that may be NCCL's, without colours; two that ranks of one host wrote at once, one behind the other."""
    for number, line in enumerate(lines, 1):
        if "NCCL" not in line:
            continue
        if "\x1b" in line:
            line = _ESCAPE.sub("", line)
        host = None
        if line.count("] NCCL INFO ") > 1:
            host = _HOST.search(line)
        if host is None:
            yield number, line
            continue
        for part in re.split(rf"(?={re.escape(host[1])}:\d{{1,10}}:\d{{1,10}} \[\d{{1,4}}\] NCCL )", line):
            yield number, part


def find_host(text: str) -> str:
    """Return the only host that tags the lines of a log; "" where there is none, or several.

    Args:
        text: of the log.
    """
    hosts = {match[1] for line in iterate_lines(text) if " NCCL " in line and (match := _HOST.search(line[:400]))}
    if len(hosts) == 1:
        return hosts.pop()
    return ""


def name_transport(route: str) -> str:
    """Name the transport of a route: `P2P`, `SHM`, `NET/IB`, `NET/IB/GDRDMA`, `NET/Socket`, `COLLNET`, without card and
    pointer.

    Args:
        route: what a log has behind `via`.
    """
    parts = route.split("/")
    if parts[0] != "NET":
        return parts[0]
    direct = ""
    if "GDRDMA" in route:
        direct = "/GDRDMA"
    return "/".join(parts[:2]) + direct
