"""What was asked for, as one frozen value, and its address: a URL query that anybody can share, edit and get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any, TypeVar

import collsim as cs
from collsim.collective import translate_collective
from collsim.dtypes import find_dtype_name
from collsim.errors import CollsimError, Sentence, describe_unknown
from collsim.registry import Option, get_algorithm
from collsim.simulate import ENGINES, SHARING, Engine
from collsim.sweep.synthesized_algorithm import SYNTHESIZED, can_synthesize
from collsim.topology.fabrics import FABRICS
from collsim.units import parse_count

from ..texts import write_texts
from . import custom_machine
from .address_parameters import (
    LONGEST,
    Complaint,
    Control,
    ControlKind,
    PageAddress,
    T,
    Word,
    declare_word,
    read_words,
    shorten,
    write_value,
)
from .custom_machine import OWN
from .machine_edits import LONGEST as LONGEST_EDITS
from .machine_edits import Edits, read_edits, write_edits
from .machine_parts import LONGEST as LONGEST_PARTS
from .machine_parts import Parts, read_parts, write_parts

MAX_RANKS = 256
MAX_NODES = 32
MAX_OPTION = 1024


#: What can be set of a machine.
MACHINE_WORDS = ("nodes", "fabric", "p2p", "gdr")


@dataclass(frozen=True)
class MachineChoice:
    """Where something runs.

    Attributes:
        machine: name of a machine (it has `nodes`, `fabric`, `p2p`, `gdr`), of a generic network (it has `bandwidth`,
            `alpha`, and `ranks` or `shape`), or `own`: what `machine_text` describes.
        shape: size of a network that is not told by its number of ranks: `4x4` for a torus, `4` for a fat tree.
        reduces: of the network `switch`: its switch adds up and multicasts, as NVLS and SHARP need it.
        parts: other parts than the machine's own, by the words of `cs.machine`.
        edits: what is changed of single cables and devices; of networks, too.
    """

    machine: str = "dgx-a100"
    nodes: int = 2
    fabric: str = "switch"
    p2p: bool = True
    gdr: bool = True
    ranks: int = 8
    shape: str = ""
    bandwidth: str = "25GB/s"
    alpha: str = "1us"
    reduces: bool = False
    machine_text: str = ""
    parts: Parts = ()
    edits: Edits = ()

    @property
    def machine_fields(self) -> dict[str, Any]:
        """The fields that say which machine or network, by name."""
        return {field.name: getattr(self, field.name) for field in fields(MachineChoice)}

    @property
    def takes(self) -> tuple[str, ...]:
        """Which of `nodes`, `fabric`, `p2p`, `gdr` the machine has."""
        if self.machine != OWN:
            if self.machine in cs.machines():
                return MACHINE_WORDS
            return ()
        try:
            return custom_machine.read_facts(self.machine_text).takes
        except CollsimError:
            return ()

    @property
    def own_text(self) -> str:
        """Text of the machine of one's own where this is it, else ""."""
        if self.machine == OWN:
            return self.machine_text
        return ""

    @property
    def on_machine(self) -> bool:
        """Is it a machine, with routes inside its nodes, and not a generic network?"""
        return bool(self.takes)

    @property
    def copies(self) -> int:
        """How many nodes there are; one where it has none."""
        if "nodes" in self.takes:
            return self.nodes
        return 1

    @property
    def where(self) -> Choice:
        """The default run on this machine or network."""
        return Choice(**self.machine_fields)


@dataclass(frozen=True)
class Choice(MachineChoice):
    """One run, as configured: names, numbers and quantities as a person wrote them.

    Attributes:
        collective: its name.
        algorithm: its name.
        options: the algorithm's own, only those that are set; `channels` left out means all that the machine offers.
        nbytes: size with its unit, as a person wrote it.
        dtype: type of an element.
        engine: `lockstep` or `event`.
        sharing: how transfers share a link; engine `event` only.
        algorithms: what the second page compares; empty means the usual; `synthesized`: what is found.
        sizes: what the second page compares them at: first, last and factor.
    """

    collective: str = "allreduce"
    algorithm: str = "allreduce_ring"
    options: tuple[tuple[str, Any], ...] = ()
    nbytes: str = "256MiB"
    dtype: str = "float32"
    engine: Engine = "lockstep"
    sharing: str = "fair"
    algorithms: tuple[str, ...] = ()
    sizes: str = "1KiB:1GiB:2"


#: A machine, or what runs on one.
AnyMachineChoice = TypeVar("AnyMachineChoice", bound=MachineChoice)


def read_flag(text: str) -> bool:
    """True or False from the words people write in an address.

    Args:
        text: The text.
    """
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.lower() not in words:
        raise CollsimError("{text!r} is neither on nor off", text=text)
    return words[text.lower()]


def create_name_reader(what: str, known: Callable[[], object]) -> Callable[[str], str]:
    """A reader for a name out of a list that may still grow.

    Args:
        what: What is meant: a name for messages.
        known: Returns the names that exist.
    """
    return partial(_read_name, what, known)


def _read_name(what: str, known: Callable[[], Any], text: str) -> str:
    if text not in known():
        raise CollsimError(describe_unknown(what, shorten(text), known()))
    return text


def _read_collective(text: str) -> str:
    return _read_name("collective", list_played_collectives, translate_collective(text))


def count(what: str, most: int, least: int = 1) -> Callable[[str], int]:
    """A reader for a whole number in a range.

    Args:
        what: What is meant: a name for messages.
        most: The most that is allowed.
        least: The least that is allowed.
    """
    return partial(_read_count, what, most, least)


def _read_count(what: str, most: int, least: int, text: str) -> int:
    number = parse_count(text, what, least)
    if number > most:
        message = "{what}={number} is too large; {what} is at most {most} here"
        raise CollsimError(message, what=what, number=number, most=most)
    return number


def create_quantity_reader(parse: Callable[[str], object]) -> Callable[[str], str]:
    """A reader for a text with a unit; it stays as it was written.

    Args:
        parse: Reads the quantity; it raises for a text that is none.
    """
    return partial(_as_written, parse)


def _as_written(parse: Callable[[str], object], text: str) -> str:
    parse(text)
    return text


def create_option_reader(of: Option) -> Callable[[str], object]:
    """A reader for an algorithm's own option.

    Args:
        of: The algorithm's option.
    """
    if of.kind == "flag":
        return read_flag
    if of.kind == "amounts":
        return str  # the algorithm says what is wrong with them
    if of.kind == "other":
        return create_quantity_reader(parse_shape)
    if of.kind == "choice":
        by_text = {str(c): c for c in of.choices}
        return lambda text: by_text[create_name_reader(of.name, lambda: by_text)(text)]
    if of.kind == "root":
        return count(of.name, MAX_OPTION, least=0)
    return count(of.name, MAX_OPTION, least=of.least)


def _read_sizes(text: str) -> str:
    if re.search(r":1\.0", text):  # would be counted up in tiny steps
        raise CollsimError("sizes {text!r} are more than 200; use a larger factor", text=text)
    sizes = cs.size_range(text)
    if len(sizes) > 200:
        raise CollsimError("sizes {text!r} are more than 200; use a larger factor", text=text)
    if not sizes[0]:
        message = "sizes {text!r} begin with 0 bytes, which has no place on a logarithmic axis; use 1 or more"
        raise CollsimError(message, text=text)
    return text


def _read_own(letters: str) -> str:
    text = custom_machine.unpack_text(letters)
    custom_machine.check_text(text, write_texts("own.linked"))
    return text


def create_list_reader(
    what: str, known: Callable[[], object], *, can_be_empty: bool = False
) -> Callable[[str], tuple[str, ...]]:
    """A reader for several names with commas between them, each once.

    Args:
        what: What is meant: a name for messages.
        known: Returns the names that exist.
        can_be_empty: Whether no name at all means something, too.
    """
    return partial(_read_list, what, known, can_be_empty)


def _read_list(what: str, known: Callable[[], object], can_be_empty: bool, text: str) -> tuple[str, ...]:
    names = [name for name in text.split(",") if name]
    if not names and not can_be_empty:
        names = [text]
    return tuple(dict.fromkeys(_read_name(what, known, name) for name in names))


def create_whole_reader(known: Iterable[int]) -> Callable[[str], int]:
    """A reader for one of a few whole numbers.

    Args:
        known: The values that exist.
    """
    words = tuple(map(str, known))
    return lambda text: int(_read_word(words, text))


def create_word_reader(known: Collection[str]) -> Callable[[str], str]:
    """A reader for one of a few words.

    Args:
        known: The values that exist.
    """
    return partial(_read_word, known)


def _read_word(known: Collection[str], text: str) -> str:
    if text not in known:
        raise CollsimError("unknown")
    return text


# ---- fields with their controls


def declare_menu(
    default: T,
    what: str,
    known: Callable[[], Iterable[str]],
    *,
    kind: ControlKind = "menu",
    text: str = "",
    names: str = "",
) -> T:
    """A field that holds one of the names that exist, with the menu that sets it.

    Args:
        default: Value of the field in a bare address.
        what: What it is, as the message of an error calls it.
        known: Makes the list.
        kind: As in `Control`.
        text: As in `Control`.
        names: As in `Control`.
    """
    return declare_word(default, create_name_reader(what, known), control=Control(kind, known, text=text, names=names))


def declare_number(
    default: int, what: str, most: int, least: int = 1, *, known: Iterable[int] = (), text: str = ""
) -> int:
    """A field that holds a whole number in a range.

    Args:
        default: Value of the field in a bare address.
        what: Its name, for the messages.
        most: The most that is allowed.
        least: The least that is allowed.
        known: The numbers of a menu; without them any is typed.
        text: As in `Control`.
    """
    numbers = tuple(known)
    kind: ControlKind = "number"
    if numbers:
        kind = "menu"
    return declare_word(default, count(what, most, least), control=Control(kind, lambda: numbers, least, most, text))


def declare_quantity(
    default: str,
    read: Callable[[str], str],
    known: Iterable[str],
    *,
    limit: int = LONGEST,
    instead: str | None = None,
) -> str:
    """A field that holds a text with a unit, as it was written; "" among `known`: it is left to what is usual.

    Args:
        default: Value of the field in a bare address.
        read: Reads the text; raises CollsimError for one that cannot be.
        known: What is on offer.
        limit: As in `Word`.
        instead: As in `Word`.
    """
    quantities = tuple(known)
    control = Control("quantity", lambda: quantities)
    return declare_word(default, read, limit=limit, instead=instead, control=control)


def declare_switch(default: bool) -> bool:
    """A field that is on or off.

    Args:
        default: Value of the field in a bare address.
    """
    return declare_word(default, read_flag, control=Control("switch"))


def _build_machine_word(name: str, known: Callable[[], object]) -> Word:
    return Word(name, create_name_reader(name, known), "machine")


#: The words of a run, as every page reads them.
WORDS: dict[str, Word] = {
    word.name: word
    for word in (
        Word("collective", _read_collective),
        Word("algorithm", create_name_reader("algorithm", cs.algorithms)),
        Word(
            "own",
            lambda text: _read_own(text),
            "machine_text",
            limit=custom_machine.LONGEST_IN_ADDRESS,
            write=custom_machine.pack_text,
            default_field="machine",
        ),
        _build_machine_word("machine", lambda: [*cs.machines(), OWN]),
        _build_machine_word("network", lambda: list_networks()),
        Word("parts", read_parts, limit=LONGEST_PARTS, write=write_parts),
        Word("edits", read_edits, limit=LONGEST_EDITS, write=write_edits),
        Word("nbytes", create_quantity_reader(cs.units.parse_bytes)),
        Word("dtype", find_dtype_name),
        Word("engine", create_name_reader("engine", lambda: ENGINES)),
        Word("sharing", create_name_reader("sharing", lambda: SHARING)),
        Word("nodes", count("nodes", MAX_NODES)),
        Word("fabric", create_name_reader("fabric", lambda: FABRICS)),
        Word("p2p", read_flag),
        Word("gdr", read_flag),
        Word("ranks", count("ranks", MAX_RANKS)),
        Word("shape", create_quantity_reader(lambda text: parse_shape(text))),
        Word("bandwidth", create_quantity_reader(cs.units.parse_bandwidth)),
        Word("alpha", create_quantity_reader(cs.units.parse_time)),
        Word("reduces", read_flag),
        Word(
            "algorithms",
            create_list_reader("algorithm", lambda: [*cs.algorithms(), SYNTHESIZED], can_be_empty=True),
            limit=40 * LONGEST,
            write=",".join,
        ),
        Word("sizes", _read_sizes),
    )
}


def list_played_collectives() -> list[str]:
    """Collectives that have an algorithm, in their own order."""
    return [name for name in cs.collectives() if cs.algorithms(name)]


def list_networks() -> list[str]:
    """Names of the generic networks."""
    return list(cs.topology.NETWORKS)


#: For networks that are not told by their number of ranks: sizes to choose from, the first of them unless said
#: otherwise.
SHAPES: dict[str, tuple[str, ...]] = {
    "torus": ("4x4", "2x2", "2x4", "2x2x2", "4x4x2", "8x8"),
    "mesh": ("4x4", "2x2", "2x4", "2x2x2", "4x4x2", "8x8"),
    "fat_tree": ("4", "2", "6", "8"),
    "dragonfly": ("2x2x1", "1x2x1", "2x4x2"),
}


LATEST = 1e6  # s


def _read_seconds(text: str) -> float:
    seconds = float(cs.units.parse_time(shorten(text), "t"))
    if seconds > LATEST:
        message = "t={value} is too large; t is at most {latest:.0f} here"
        raise CollsimError(message, value=shorten(text), latest=LATEST)
    return seconds


#: Where the player begins: time (s), view and open node.
MOMENT = (
    Word("t", _read_seconds, instead="–"),
    Word("view", create_name_reader("view", lambda: ("physical", "logical")), instead="–"),
    Word("node", count("node", MAX_NODES - 1, least=0), instead="–"),
)


def has_shape(network: str) -> bool:
    """Is this network told by something else than its number of ranks?

    Args:
        network: Name of the network.
    """
    return network in SHAPES


def can_reduce(network: str) -> bool:
    """Is this a network whose switch may be said to reduce?

    Args:
        network: Name of the network.
    """
    return network == "switch"


def parse_shape(text: str) -> list[int]:
    """`[4, 4]` of `4x4`.

    Args:
        text: The text.
    """
    return [parse_count(part, "shape") for part in text.replace("×", "x").split("x")]


def write_network(choice: MachineChoice) -> str:
    """A generic network as the command line takes it: `ring(8, bandwidth=25GB/s, alpha=1us)`.

    Args:
        choice: The run that is chosen.
    """
    shape = [choice.ranks]
    if has_shape(choice.machine):
        shape = parse_shape(choice.shape or SHAPES[choice.machine][0])
    size = ", ".join(map(str, shape))
    reduces = ""
    if can_reduce(choice.machine) and choice.reduces:
        reduces = ", reduces=True"
    return f"{choice.machine}({size}, bandwidth={choice.bandwidth}, alpha={choice.alpha}{reduces})"


def choose_usual_algorithm(collective: str) -> str:
    """The ring where there is one, else the first by name.

    Args:
        collective: Name of the collective.
    """
    known = list(cs.algorithms(collective))
    if f"{collective}_ring" in known:
        return f"{collective}_ring"
    return known[0]


#: Ways that a course compares, by what follows the collective in their names; a collective without them shows its first
#: few.
_USUAL = (
    *(
        "ring",
        "tree",
        "double_binary_tree",
        "halving_doubling",
        "recursive_doubling",
        "recursive_halving",
        "parameter_server",
    ),
    *("binomial", "chain", "flat", "bruck", "pairwise", "direct"),
)


def list_usual_algorithms(collective: str) -> tuple[str, ...]:
    """What a comparison starts with: the well-known ways, in the order of their names.

    Args:
        collective: Name of the collective.
    """
    known = cs.algorithms(collective)
    names = [name for name, algorithm in known.items() if algorithm.pattern in _USUAL]
    if len(names) > 1:
        return tuple(names)
    return tuple(list(known)[:5])


def list_synthesized(collective: str) -> list[str]:
    """What may stand among the algorithms of a comparison and is none: what is synthesized.

    Args:
        collective: Name of the collective.
    """
    if can_synthesize(collective):
        return [SYNTHESIZED]
    return []


def list_own_options(algorithm: str) -> dict[str, Option]:
    """The options of an algorithm that a person can set.

    Args:
        algorithm: Name of the algorithm.
    """
    return {name: o for name, o in get_algorithm(algorithm).options.items() if o.kind != "topology"}


def from_query(query: Mapping[str, str], start: Choice | None = None) -> tuple[Choice, list[Complaint]]:
    """The choice that an address asks for. What cannot be used falls back, with a complaint; nothing is raised.

    Args:
        query: Words of the address.
        start: What holds for words that are missing; None for the first page's run.
    """
    base = start or Choice()
    fields, complaints = read_words(WORDS.values(), query, base)
    if fields.get("machine") == OWN and not (fields.get("machine_text") or base.machine_text):
        del fields["machine"]
        if "own" not in query:
            complaints.append(
                Complaint("machine", OWN, Sentence("the address does not hold the machine"), base.machine)
            )
    if fields.get("machine") == OWN and base.machine != OWN:
        fields = read_file_fields(fields.get("machine_text") or base.machine_text) | fields
    fields.update(_reconcile(fields, query, base, complaints))
    complaints = [
        replace(complaint, used=fields["algorithm"]) if complaint.name == "algorithm" else complaint
        for complaint in complaints
    ]
    fields["options"] = _read_options(fields["algorithm"], query, complaints)
    if "algorithms" in fields:
        there = (*cs.algorithms(fields["collective"]), *list_synthesized(fields["collective"]))
        fields["algorithms"] = tuple(a for a in fields["algorithms"] if a in there)
    choice = replace(base, **fields)
    if has_shape(choice.machine) and not choice.shape:
        choice = replace(choice, shape=SHAPES[choice.machine][0])
    return choice, complaints


def read_file_fields(text: str) -> dict[str, Any]:
    """Fields of a choice that is on a machine of one's own, as its file has it.

    Args:
        text: The text.
    """
    facts = custom_machine.read_facts(text)
    fields = {"nodes": 1, "fabric": "switch", "p2p": True, "gdr": True} | dict(facts.settings)
    return {
        "machine": OWN,
        "machine_text": text,
        "parts": (),
        "edits": (),
        **{name: type(getattr(Choice, name))(fields[name]) for name in facts.takes},
    }


def drop_own_machine(choice: AnyMachineChoice) -> AnyMachineChoice:
    """The choice without a machine of one's own; what is on it goes to the first page's machine, one node of it.

    Args:
        choice: Where something runs.
    """
    plain = Choice(nodes=1)
    defaults = {}
    if choice.machine == OWN:
        defaults = {name: getattr(plain, name) for name in ("machine", *MACHINE_WORDS, "parts", "edits")}
    return replace(choice, machine_text="", **defaults)


#: Words of an address that say where something runs, on pages that keep a machine of their own.
MACHINE_PARAMETERS = (
    *("own", "machine", "network", *MACHINE_WORDS, "parts", "edits"),
    *("ranks", "shape", "bandwidth", "alpha", "reduces"),
)


def build_machine_address(
    plain: MachineChoice,
    words: Iterable[Word],
    adapt: Callable[[Any, dict[str, str]], dict[str, str]] = lambda choice, query: query,
) -> PageAddress:
    """The address of a page with a machine of its own.

    Args:
        plain: What a bare address asks for.
        words: What stands in it beside the machine.
        adapt: As in `PageAddress`.
    """

    def agree(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> MachineChoice:
        return replace(plain, **read_machine_fields(fields, query, complaints, plain.machine))

    def adapt_query(choice: MachineChoice, query: dict[str, str]) -> dict[str, str]:
        return adapt_machine_query(choice, plain.machine, adapt(choice, query))

    return PageAddress(plain, (*words, *(WORDS[name] for name in MACHINE_PARAMETERS)), agree, adapt_query)


def read_machine_fields(
    fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint], usual: str
) -> dict[str, Any]:
    """The fields of a page with a machine of its own; a pasted one needs its text, and is as its file has it.

    Args:
        fields: Found in the address.
        query: Words of the address.
        complaints: Gets an entry where the address does not hold the machine.
        usual: Machine of a bare address.
    """
    if fields.get("machine") == OWN and not fields.get("machine_text"):
        fields = {name: value for name, value in fields.items() if name != "machine"}
        if "own" not in query:
            complaints.append(Complaint("machine", OWN, Sentence("the address does not hold the machine"), usual))
    if fields.get("machine") == OWN:
        return read_file_fields(fields["machine_text"]) | fields
    return fields


def adapt_machine_query(choice: MachineChoice, usual: str, query: dict[str, str]) -> dict[str, str]:
    """The words of an address with those that the machine takes, and its name where it is another than usual.

    Args:
        choice: Where something runs.
        usual: Machine of a bare address.
        query: The words that differ from those of a bare address.
    """
    adapted = {name: text for name, text in query.items() if name not in MACHINE_PARAMETERS}
    stated = {"network", *_list_stated_words(choice)}
    if choice.machine != usual:
        stated.add("machine")
    for name, text in _write_machine_words(choice).items():
        if name in stated or name in query:
            adapted[name] = text
    return adapted


def _list_stated_words(choice: MachineChoice) -> tuple[str, ...]:
    """What an address says even where it is as usual: what it leaves out of one's own machine is as the file has it."""
    if choice.machine == OWN:
        return ("own", *MACHINE_WORDS)
    return ()


def _write_machine_words(choice: MachineChoice) -> dict[str, str]:
    """Which machine or network it is, and all that is set of it, as an address has them."""
    names = ["edits"]
    if choice.machine not in list_networks():
        names += ["machine", *choice.takes]
        if choice.machine == OWN:
            names.append("own")
        if choice.on_machine:
            names.append("parts")
    else:
        names += ["network", "bandwidth", "alpha"]
        if can_reduce(choice.machine):
            names.append("reduces")
        if has_shape(choice.machine):
            names.append("shape")
        else:
            names.append("ranks")
    return {name: WORDS[name].write_fields(choice) for name in names}


def _reconcile(
    fields: dict[str, Any], query: Mapping[str, str], base: Choice, complaints: list[Complaint]
) -> dict[str, str]:
    """Collective and algorithm that belong together; where they do not, the collective wins if the address names it."""
    collective, algorithm = fields.get("collective"), fields.get("algorithm")
    if collective is None and algorithm is not None:
        return {"collective": get_algorithm(algorithm).collective, "algorithm": algorithm}
    collective = collective or base.collective
    algorithm = algorithm or base.algorithm
    if algorithm in cs.algorithms(collective):
        return {"collective": collective, "algorithm": algorithm}
    usual_algorithm = choose_usual_algorithm(collective)
    if "algorithm" in fields:
        its = get_algorithm(algorithm).collective
        reason = Sentence("it is an algorithm for {its}, not for {collective}", its=its, collective=collective)
        complaints.append(Complaint("algorithm", shorten(query["algorithm"]), reason, usual_algorithm))
    return {"collective": collective, "algorithm": usual_algorithm}


def _read_options(
    algorithm: str, query: Mapping[str, str], complaints: list[Complaint]
) -> tuple[tuple[str, object], ...]:
    words = [
        Word(
            name_option_key(name),
            create_option_reader(o),
            name,
            instead="all" if name == "channels" else write_value(o.default),
        )
        for name, o in list_own_options(algorithm).items()
    ]
    values, unread = read_words(words, query)
    complaints += unread
    for key in list_option_keys() & query.keys() - {name_option_key(name) for name in list_own_options(algorithm)}:
        reason = Sentence("{algorithm} has no option {option}", algorithm=algorithm, option=key)
        complaints.append(Complaint(key, shorten(query[key]), reason, "–"))
    return tuple(values.items())


@cache
def list_option_keys() -> frozenset[str]:
    """The options of all algorithms, as addresses have them."""
    return frozenset(name_option_key(name) for algorithm in cs.algorithms() for name in list_own_options(algorithm))


def name_option_key(name: str) -> str:
    """The name of an algorithm's option in the address; one that is taken already gets a prefix.

    Args:
        name: Name of the option.
    """
    if name in WORDS or name in ("lang", "t", "view", "node"):
        return f"option_{name}"
    return name


def to_query(choice: Choice) -> dict[str, str]:
    """The address of a choice: what it takes to ask for it again, and nothing that does not matter for it.

    Args:
        choice: The run that is chosen.
    """
    names = ["nbytes", "dtype", "engine", "algorithms", "sizes"]
    if choice.engine == "event":
        names.append("sharing")
    query = {"collective": choice.collective, "algorithm": choice.algorithm, **_write_machine_words(choice)}
    query |= {name: WORDS[name].write_fields(choice) for name in names}
    query |= {name_option_key(name): write_value(value) for name, value in choice.options}
    optional = {"dtype", "engine", "sharing", "fabric", "p2p", "gdr", "reduces", "sizes"} - {
        *_list_stated_words(choice)
    }
    plain = {name: WORDS[name].write_fields(Choice()) for name in optional}
    return {name: text for name, text in query.items() if text and plain.get(name) != text}


def build_engine_settings(choice: Choice) -> dict[str, Any]:
    """Keywords of `simulate` that belong to the engine.

    Args:
        choice: The run that is chosen.
    """
    if choice.engine == "event" and choice.sharing != "fair":
        return {"sharing": choice.sharing}
    return {}


def build_engine_pair(choice: Choice) -> Engine | tuple[str, dict[str, Any]]:
    """The engine as `sweep` takes it: its name, or `(name, {keyword: value})`.

    Args:
        choice: The run that is chosen.
    """
    settings = build_engine_settings(choice)
    if settings:
        return (choice.engine, settings)
    return choice.engine
