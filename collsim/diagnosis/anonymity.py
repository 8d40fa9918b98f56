"""Names of hosts and addresses, replaced in what is quoted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from .evidence_pieces import Evidence, Fact
from .job import list_tested_hosts

Mask = Callable[[str], str]


def create_mask(hosts: Iterable[str]) -> Mask:
    """Return a function that replaces names of hosts by `host1`, `host2` ... and IPv4 addresses by `0.0.0.0`.

    Args:
        hosts: their names, in the order of their numbers; repeated ones count once.

    Examples:
        >>> create_mask(["node7"])("node7:41:52 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0>")
        'host1:41:52 [0] NCCL INFO Bootstrap : Using eth0:0.0.0.0<0>'
    """
    names = {host: f"host{number}" for number, host in enumerate(dict.fromkeys(hosts), 1)}
    # The longest first, so that `node7-ib0` is not taken for `node7` with a tail.
    ordered = sorted(names, key=lambda host: -len(host))
    form = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, ordered))})(?![\w-])")

    def mask(text: str) -> str:
        """Replace hosts, then addresses."""
        if names:
            text = form.sub(lambda match: names[match[0]], text)
        return re.sub(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", "0.0.0.0", text)

    return mask


def list_hosts(evidence: Evidence) -> list[str]:
    """Return the names of hosts that the evidence has, with repetitions.

    Args:
        evidence: logs with tagged lines, and nccl-tests' lists of devices.
    """
    hosts = [str(host) for host in evidence.list_values("nccl.host")]
    for text in evidence.texts.values():
        hosts += list_tested_hosts(text)
    return hosts


def mask_facts(facts: Sequence[Fact], mask: Mask) -> tuple[Fact, ...]:
    """Return facts with their quotes masked.

    Args:
        facts: to quote.
        mask: of `create_mask`.
    """
    return tuple(replace(fact, text=mask(fact.text), piece=mask(fact.piece)) for fact in facts)
