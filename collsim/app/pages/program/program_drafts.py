"""What the page remembers of a program: its source, how it is run, and its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import collsim as cs
from collsim.package_data import read_toml
from collsim.programs.program_entry import LONGEST_PROGRAM
from collsim.rank_engine.expected import ProgramCollective
from collsim.rank_engine.start import MAX_RANKS

from ...scenario.address_parameters import declare_word, pack_text
from ...scenario.choice import WORDS, create_name_reader, declare_menu, declare_number
from ..write.drafts import MACHINES, CodeDraft, build_code_address, build_machine, unpack_code

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


def _unpack_program(text: str) -> str:
    return unpack_code(text, LONGEST_PROGRAM)


@dataclass(frozen=True)
class ProgramDraft(CodeDraft):
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
    """

    code: str = declare_word(
        EXAMPLES["ring"][1], _unpack_program, limit=LONGEST_PACKED, write=pack_text, instead="ring"
    )
    collective: ProgramCollective | Literal["none"] = declare_menu(
        "allreduce", "collective", lambda: COLLECTIVES, names="program"
    )
    ranks: int = declare_number(4, "ranks", MAX_RANKS, text="ranks")
    nbytes: str = declare_word("1MiB", WORDS["nbytes"].read)
    machine: str = declare_word(PLAIN, create_name_reader("machine", lambda: PLACES))
    late: str = declare_word(NOBODY, create_name_reader("rank", lambda: [NOBODY, *map(str, range(MAX_RANKS))]))
    buffered: str = declare_menu(BUFFERED[0], "limit", lambda: BUFFERED, names="program.buffered")
    timeout: str = declare_menu(TIMEOUTS[0], "timeout", lambda: TIMEOUTS, names="time")
    starters = EXAMPLES

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


def build_topology(draft: ProgramDraft) -> cs.Topology | None:
    """What gives the times: as many machines as the ranks take; None for plain computers.

    Args:
        draft: The program and how it is run.
    """
    if draft.machine == PLAIN:
        return None
    return build_machine(draft.machine, draft.ranks)


ADDRESS = build_code_address(ProgramDraft())
