"""What the page remembers of a program: its source, how it is run, and its address."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import collsim as cs
from collsim.package_data import read_toml
from collsim.programs.program_entry import LONGEST_PROGRAM
from collsim.rank_engine.expected import ProgramCollective
from collsim.rank_engine.start import MAX_RANKS

from ...scenario.address_parameters import (
    Complaint,
    PageAddress,
    Word,
    declare_word,
    list_words,
    pack_text,
)
from ...scenario.choice import WORDS, count, create_name_reader
from ..write.drafts import MACHINES, build_machine, unpack_code

PLAIN = "ethernet"  # computers on one switch
PLACES = (PLAIN, *MACHINES)
COLLECTIVES = (
    "allreduce",
    "broadcast",
    "reduce",
    "allgather",
    "reduce_scatter",
    "alltoall",
    "gather",
    "scatter",
    "none",
)
NOBODY = "nobody"
DELAY = "300us"
UNBUFFERED, EAGER = "0B", "8KiB"  # limits that the switch chooses
BUFFERED = ("library", UNBUFFERED, "4KiB", EAGER, "64KiB", "1GiB")
TIMEOUTS = ("30s", "600s", "1800s")  # a short one, NCCL's and gloo's
#: Programs to begin with, by name: what each should do, and its source.
EXAMPLES: dict[str, tuple[ProgramCollective | Literal["none"], str]] = {
    name: (example["collective"], example["code"]) for name, example in read_toml(__file__, "examples.toml").items()
}
#: Characters of packed source that an address may have: the server reads addresses of at most 64 KiB, with headers.
LONGEST_PACKED = 50_000
_turns = itertools.count(1)


def _unpack_program(text: str) -> str:
    return unpack_code(text, LONGEST_PROGRAM)


@dataclass(frozen=True)
class ProgramDraft:
    """A program and how it is run.

    Attributes:
        code: the source of the program.
        collective: what it should do, or `none`.
        ranks: how many ranks run it.
        nbytes: size of each rank's buffer, as text.
        machine: name of one, or `ethernet`.
        late: the rank that begins later, as text, or `nobody`.
        buffered: messages up to so many bytes are buffered; `library`: as the library does.
        timeout: after which a library gives up.
        turn: changes when the source comes from elsewhere than the editor, which then shows it.
        linked: the source came in an address, and nobody has said yet that it may run.
        allow_unsandboxed: it runs also where the system cannot isolate it.
    """

    code: str = declare_word(
        EXAMPLES["ring"][1], _unpack_program, limit=LONGEST_PACKED, write=pack_text, instead="ring"
    )
    collective: ProgramCollective | Literal["none"] = declare_word(
        "allreduce", create_name_reader("collective", lambda: COLLECTIVES)
    )
    ranks: int = declare_word(4, count("ranks", MAX_RANKS, least=1))
    nbytes: str = declare_word("1MiB", WORDS["nbytes"].read)
    machine: str = declare_word(PLAIN, create_name_reader("machine", lambda: PLACES))
    late: str = declare_word(NOBODY, create_name_reader("rank", lambda: [NOBODY, *map(str, range(MAX_RANKS))]))
    buffered: str = declare_word(BUFFERED[0], create_name_reader("limit", lambda: BUFFERED))
    timeout: str = declare_word(TIMEOUTS[0], create_name_reader("timeout", lambda: TIMEOUTS))
    turn: int = 0
    linked: bool = False
    allow_unsandboxed: bool = False

    @property
    def example(self) -> str | None:
        """The example whose source this is."""
        return next((name for name, (_, code) in EXAMPLES.items() if code == self.code), None)

    @property
    def fits_address(self) -> bool:
        """Whether the page's address can hold the source."""
        return self.example is not None or len(pack_text(self.code)) <= LONGEST_PACKED

    @property
    def expected_collective(self) -> ProgramCollective | None:
        """What it should do, or None."""
        if self.collective == "none":
            return None
        return self.collective

    @property
    def eager_limit(self) -> str | None:
        """Up to how many bytes messages are buffered; None: as the library does."""
        if self.buffered == "library":
            return None
        return self.buffered

    @property
    def late_rank(self) -> int | None:
        """The rank that begins later, where it is one of the program's."""
        if self.late.isdigit() and int(self.late) < self.ranks:
            return int(self.late)
        return None


def start_example(draft: ProgramDraft, name: str) -> ProgramDraft:
    """The draft with an example in the editor.

    Args:
        draft: The program and how it is run.
        name: Name of the example.
    """
    collective, code = EXAMPLES[name]
    return replace(draft, code=code, collective=collective, turn=next(_turns), linked=False)


def change_source(draft: ProgramDraft, code: str) -> ProgramDraft:
    """The draft with another source in the editor.

    Args:
        draft: The program and how it is run.
        code: The source.
    """
    return replace(draft, code=code, turn=next(_turns), linked=False)


def build_topology(draft: ProgramDraft) -> cs.Topology | None:
    """What gives the times: as many machines as the ranks take; None for plain computers.

    Args:
        draft: The program and how it is run.
    """
    if draft.machine == PLAIN:
        return None
    return build_machine(draft.machine, draft.ranks)


def _reconcile(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> ProgramDraft:
    draft = ProgramDraft(turn=next(_turns))
    if example := fields.pop("start", None):
        draft = start_example(draft, example)
    draft = replace(draft, **fields)
    return replace(draft, linked="code" in fields and draft.example is None)


def _adapt_address(draft: ProgramDraft, query: dict[str, str]) -> dict[str, str]:
    """An example by its name, any other source packed; the collective where it is not that of the example."""
    example, words = draft.example, dict(query)
    words.pop("code", None)
    words.pop("collective", None)
    default_collective = ProgramDraft().collective
    if example is None:
        if draft.fits_address:
            words["code"] = pack_text(draft.code)
    else:
        default_collective = EXAMPLES[example][0]
        if example != "ring":
            words["start"] = example
    if draft.collective != default_collective:
        words["collective"] = draft.collective
    return words


_START = Word("start", create_name_reader("start", lambda: EXAMPLES), instead="ring")
ADDRESS = PageAddress(ProgramDraft(), (_START, *list_words(ProgramDraft)), _reconcile, _adapt_address)
