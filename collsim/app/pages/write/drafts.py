"""What the Write page remembers: the code, where it runs, and its address. Any code fits into the address, packed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import collsim as cs
from collsim.errors import CollsimError
from collsim.package_data import read_toml
from collsim.sandbox.allowlist import LONGEST

from ...scenario.address_parameters import (
    Complaint,
    PageAddress,
    Word,
    declare_word,
    get_field,
    list_words,
    pack_text,
    unpack_text,
)
from ...scenario.choice import WORDS, count, create_name_reader, has_shape, list_networks

MAX_RANKS = 16
MACHINES = ("dgx-a100", "dgx-h100", "pcie-8gpu")
_HEAD = "import numpy as np\nimport collsim as cs\n\n"
_EXAMPLES = read_toml(__file__, "examples.toml")
_SKELETONS: dict[str, str] = _EXAMPLES.pop("skeletons")
_SKELETON = "skeleton_"
#: Code to begin with, by name: the collective it is for, and the code. A skeleton has the first transfer alone.
STARTERS: dict[str, tuple[str, str]] = {
    name: (example["collective"], _HEAD + example["code"]) for name, example in _EXAMPLES.items()
} | {
    f"{_SKELETON}{collective}": (collective, f"{_HEAD}def my_{collective}(n):\n    yield {transfer}\n")
    for collective, transfer in _SKELETONS.items()
}
_turns = itertools.count(1)


def unpack_code(text: str, longest: int = LONGEST) -> str:
    """Code from an address; never more of it than the page takes.

    Args:
        text: The text.
        longest: Characters that the page takes.
    """
    try:
        code = unpack_text(text, longest * 4)
    except (ValueError, EOFError):
        raise CollsimError("that is not packed code.") from None
    if len(code) > longest:
        message = "a program of {characters:,} characters is too long; {most:,} is the most"
        raise CollsimError(message, characters=len(code), most=longest)
    return code.replace("\r", "").replace("\0", "")


@dataclass(frozen=True)
class CodeDraft:
    """Code in an editor and how it is run, with the code that there is to begin with.

    Attributes:
        code: As it was last run.
        collective: What it should do.
        turn: Counts the times that the page itself put code into the editor: only then is what it holds replaced.
        linked: The code came in an address, so that somebody else may have written it.
        allow_unsandboxed: Whether it may run where the system cannot isolate it.
    """

    code: str = ""
    collective: str = ""
    turn: int = 0
    linked: bool = False
    allow_unsandboxed: bool = False
    starters: ClassVar[Mapping[str, tuple[str, str]]] = {}

    @property
    def starter(self) -> str | None:
        """The starting point whose code this is."""
        return next((name for name, (_, code) in self.starters.items() if code == self.code), None)

    @property
    def fits_address(self) -> bool:
        """Whether the page's address can hold the code."""
        return self.starter is not None or len(pack_text(self.code)) <= get_field(self, "code")[0].limit

    def with_code(self, code: str) -> Self:
        """The draft with other code in the editor.

        Args:
            code: The code.
        """
        return replace(self, code=code, turn=next(_turns), linked=False)

    def with_starter(self, name: str) -> Self:
        """The draft with one of the starting points in the editor.

        Args:
            name: Of the starting point.
        """
        collective, code = self.starters[name]
        return replace(self.with_code(code), collective=collective)

    @classmethod
    def find_starter(cls, collective: str) -> str | None:
        """The starting point of an address that names a collective alone; None where that keeps the usual code.

        Args:
            collective: Name of the collective.
        """
        return None


def build_code_address(plain: CodeDraft) -> PageAddress:
    """The address of a page with an editor: its code by the name of a starting point, or packed.

    Args:
        plain: What a bare address asks for.
    """

    def agree(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> CodeDraft:
        draft, start = replace(plain, turn=next(_turns)), fields.pop("start", None)
        if start is None and "code" not in query and fields.get("collective", plain.collective) != plain.collective:
            start = plain.find_starter(fields["collective"])
        if start is not None:
            draft = draft.with_starter(start)
        draft = replace(draft, **fields)
        # Code of an address was written by somebody else and needs consent; starting points of the page do not.
        return replace(draft, linked="code" in fields and draft.starter is None)

    def adapt(draft: CodeDraft, query: dict[str, str]) -> dict[str, str]:
        words = {name: text for name, text in query.items() if name not in ("code", "collective")}
        starter, usual_collective = draft.starter, plain.collective
        if starter is None and draft.fits_address:
            words["code"] = pack_text(draft.code)
        if starter is not None:
            usual_collective = draft.starters[starter][0]
            if (starter, draft.collective) != (plain.starter, plain.collective):
                words["start"] = starter
        if draft.collective != usual_collective:
            words["collective"] = draft.collective
        return words

    start = Word("start", create_name_reader("start", lambda: plain.starters), instead=plain.starter)
    return PageAddress(plain, (start, *list_words(plain)), agree, adapt)


def list_machines_and_networks() -> list[str]:
    """Machines and networks to run on, those that any number of ranks fits."""
    return [*MACHINES, *(name for name in list_networks() if not has_shape(name))]


@dataclass(frozen=True)
class Draft(CodeDraft):
    """Code and where it is tried.

    Attributes:
        code: the source.
        collective: what it should do.
        ranks: how many it is tried with.
        machine: where it is timed.
        nbytes: size of the collective, as text.
    """

    code: str = declare_word(STARTERS["ring"][1], unpack_code, limit=LONGEST * 4, write=pack_text, instead="ring")
    collective: str = declare_word("allreduce", WORDS["collective"].read)
    ranks: int = declare_word(4, count("ranks", MAX_RANKS, least=2))
    machine: str = declare_word("switch", create_name_reader("machine or network", list_machines_and_networks), "place")
    nbytes: str = declare_word("64MiB", WORDS["nbytes"].read)
    starters = STARTERS

    @property
    def is_skeleton(self) -> bool:
        """Nobody has written anything yet: the code is a skeleton, for its own collective."""
        return self.code == STARTERS.get(f"{_SKELETON}{self.collective}", ("", ""))[1]

    @classmethod
    def find_starter(cls, collective: str) -> str | None:
        """The first starting point of a collective.

        Args:
            collective: Name of the collective.
        """
        return list_starters(collective)[0]


def list_starters(collective: str) -> list[str]:
    """Names of the starting points, those of a collective first; a skeleton is offered for its own collective alone.

    Args:
        collective: Name of the collective.
    """
    names = [name for name in STARTERS if name in _EXAMPLES or name == f"{_SKELETON}{collective}"]
    return sorted(names, key=lambda name: (STARTERS[name][0] != collective, name in _EXAMPLES))


def build_topology(draft: Draft) -> cs.Topology:
    """Where it runs: as many machines as it takes, or the generic network with its cables of 25 GB/s and 1 µs.

    Args:
        draft: The code and the machine that it is tried on.
    """
    if draft.machine not in MACHINES:
        return cs.topology.NETWORKS[draft.machine](draft.ranks, bandwidth="25GB/s", alpha="1us")
    return build_machine(draft.machine, draft.ranks)


def build_machine(name: str, ranks: int) -> cs.Topology:
    """As many of a machine as so many ranks take.

    Args:
        name: Name of the machine.
        ranks: Number of ranks.
    """
    single: cs.Topology = cs.machine(name)
    if ranks <= single.ranks:
        return single
    return cs.machine(name, nodes=-(-ranks // single.ranks))


ADDRESS = build_code_address(Draft())
