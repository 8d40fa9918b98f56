"""What was asked for, as one frozen value, and its address: a URL query that anybody can share, edit and get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any

import collsim as cs
from collsim.errors import CollsimError, Sentence, describe_unknown
from collsim.registry import Option, find
from collsim.simulate import ENGINES, SHARING, Engine
from collsim.sweep.synthesized import SYNTHESIZED, can_be
from collsim.topology.fabrics import FABRICS
from collsim.units import parse_count

from . import custom_machine
from .address import LONGEST, Complaint, Word, read_words, shortened, written
from .custom_machine import OWN

MOST_RANKS = 256
MOST_NODES = 32
MOST_OF_OPTION = 1024


#: What can be set of a machine.
MACHINE_WORDS = ("nodes", "fabric", "p2p", "gdr")


@dataclass(frozen=True)
class PlaceChoice:
    """Where something runs.

    Attributes:
        place: name of a machine (it has `nodes`, `fabric`, `p2p`, `gdr`), of a generic network (it has `bandwidth`,
            `alpha`, and `ranks` or `shape`), or `own`: what the text `own` describes.
        shape: size of a network that is not told by its number of ranks: `4x4` for a torus, `4` for a fat tree.
        reduces: of the network `switch`: its switch adds up and multicasts, as NVLS and SHARP need it.
    """

    place: str = "dgx-a100"
    nodes: int = 2
    fabric: str = "switch"
    p2p: bool = True
    gdr: bool = True
    ranks: int = 8
    shape: str = ""
    bandwidth: str = "25GB/s"
    alpha: str = "1us"
    reduces: bool = False
    own: str = ""

    @property
    def place_words(self) -> dict[str, Any]:
        """What says where, by field."""
        return {field.name: getattr(self, field.name) for field in fields(PlaceChoice)}

    @property
    def where(self) -> Choice:
        """Its place, with a run as usual."""
        return Choice(**self.place_words)


@dataclass(frozen=True)
class Choice(PlaceChoice):
    """One run, as asked for: names, numbers and quantities as a person wrote them.

    Attributes:
        sharing: how transfers share a link; engine `event` only.
        options: the algorithm's own, only those that are set; `channels` left out means all that the machine offers.
        algorithms, sizes: what the second page compares; no algorithm means the usual; `synthesized`: what is found.
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

    @property
    def takes(self) -> tuple[str, ...]:
        """Which of `nodes`, `fabric`, `p2p`, `gdr` the place has."""
        if self.place != OWN:
            return MACHINE_WORDS if self.place in cs.topology.machines() else ()
        try:
            return custom_machine.facts(self.own).takes
        except CollsimError:
            return ()

    @property
    def on_machine(self) -> bool:
        """Is the place a machine, with ways inside it, and not a generic network?"""
        return bool(self.takes)

    @property
    def copies(self) -> int:
        """How many nodes there are; one where the place has no such thing."""
        return self.nodes if "nodes" in self.takes else 1


def flag(text: str) -> bool:
    """True or False from the words people write in an address."""
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.lower() not in words:
        raise CollsimError("{text!r} is neither on nor off", text=text)
    return words[text.lower()]


def one_of(what: str, known: Callable[[], Any]) -> Callable[[str], str]:
    """A reader for a name out of a list that may still grow."""
    return partial(_named, what, known)


def _named(what: str, known: Callable[[], Any], text: str) -> str:
    if text not in known():
        raise CollsimError(describe_unknown(what, shortened(text), known()))
    return text


def count(what: str, most: int, least: int = 1) -> Callable[[str], int]:
    """A reader for a whole number in a range."""
    return partial(_counted, what, most, least)


def _counted(what: str, most: int, least: int, text: str) -> int:
    number = parse_count(text, what, least)
    if number > most:
        why = "{what}={number} is too large; {what} is at most {most} here"
        raise CollsimError(why, what=what, number=number, most=most)
    return number


def quantity(parse: Callable[[str], Any]) -> Callable[[str], str]:
    """A reader for a text with a unit; it stays as it was written."""
    return partial(_as_written, parse)


def _as_written(parse: Callable[[str], Any], text: str) -> str:
    parse(text)
    return text


def option_reader(of: Option) -> Callable[[str], Any]:
    """A reader for an algorithm's own option."""
    if of.kind == "flag":
        return flag
    if of.kind == "other":
        return _shape
    if of.kind == "choice":
        by_text = {str(c): c for c in of.choices}
        return lambda text: by_text[one_of(of.name, lambda: by_text)(text)]
    return count(of.name, MOST_OF_OPTION, least=0 if of.kind == "root" else 1)


def _sizes(text: str) -> str:
    if re.search(r":1\.0", text):  # would be counted up in tiny steps
        raise CollsimError("sizes {text!r} are more than 200; use a larger factor", text=text)
    sizes = cs.size_range(text)
    if len(sizes) > 200:
        raise CollsimError("sizes {text!r} are more than 200; use a larger factor", text=text)
    if not sizes[0]:
        why = "sizes {text!r} begin with 0 bytes, which has no place on a logarithmic axis; use 1 or more"
        raise CollsimError(why, text=text)
    return text


def _shape(text: str) -> str:
    shape_numbers(text)
    return text


def _own(letters: str) -> str:
    text = custom_machine.unpacked(letters)
    custom_machine.facts(text)
    return text


def _names(text: str) -> tuple[str, ...]:
    known = one_of("algorithm", lambda: [*cs.algorithms(), SYNTHESIZED])
    return tuple(dict.fromkeys(known(name) for name in text.split(",") if name))


def among(known: Collection[str]) -> Callable[[str], str]:
    """A reader for one of a few words."""
    return partial(_word, known)


def _word(known: Collection[str], text: str) -> str:
    if text not in known:
        raise CollsimError("unknown")
    return text


def _place_word(name: str, known: Callable[[], Any]) -> Word:
    return Word(name, one_of(name, known), "place")


#: The words of a run, as every page reads them.
WORDS: dict[str, Word] = {
    word.name: word
    for word in (
        Word("collective", one_of("collective", lambda: played_collectives())),
        Word("algorithm", one_of("algorithm", cs.algorithms)),
        Word("own", lambda text: _own(text), limit=custom_machine.LONGEST_IN_ADDRESS, usual="place"),
        _place_word("machine", lambda: [*cs.topology.machines(), OWN]),
        _place_word("network", lambda: networks()),
        Word("nbytes", quantity(cs.units.parse_bytes)),
        Word("dtype", one_of("dtype", cs.dtypes)),
        Word("engine", one_of("engine", lambda: ENGINES)),
        Word("sharing", one_of("sharing", lambda: SHARING)),
        Word("nodes", count("nodes", MOST_NODES)),
        Word("fabric", one_of("fabric", lambda: FABRICS)),
        Word("p2p", flag),
        Word("gdr", flag),
        Word("ranks", count("ranks", MOST_RANKS)),
        Word("shape", _shape),
        Word("bandwidth", quantity(cs.units.parse_bandwidth)),
        Word("alpha", quantity(cs.units.parse_time)),
        Word("reduces", flag),
        Word("algorithms", _names, limit=40 * LONGEST, write=",".join),
        Word("sizes", _sizes),
    )
}


def played_collectives() -> list[str]:
    """Collectives that have an algorithm, in their own order."""
    return [name for name in cs.collectives() if cs.algorithms(name)]


def networks() -> list[str]:
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


def _seconds(text: str) -> float:
    seconds = float(cs.units.parse_time(shortened(text), "t"))
    if seconds > LATEST:
        why = "t={given} is too large; t is at most {latest:.0f} here"
        raise CollsimError(why, given=shortened(text), latest=LATEST)
    return seconds


#: Where the player begins: time (s), view and open node.
MOMENT = (
    Word("t", _seconds, instead="–"),
    Word("view", one_of("view", lambda: ("physical", "logical")), instead="–"),
    Word("node", count("node", MOST_NODES - 1, least=0), instead="–"),
)


def has_shape(network: str) -> bool:
    """Is this network told by something else than its number of ranks?"""
    return network in SHAPES


def may_reduce(network: str) -> bool:
    """Is this a network whose switch may be said to reduce?"""
    return network == "switch"


def shape_numbers(text: str) -> list[int]:
    """`[4, 4]` of `4x4`."""
    return [parse_count(part, "shape") for part in text.replace("×", "x").split("x")]


def network_text(choice: Choice) -> str:
    """A generic network as the command line takes it: `ring(8, bandwidth=25GB/s, alpha=1us)`."""
    shape = shape_numbers(choice.shape or SHAPES[choice.place][0]) if has_shape(choice.place) else [choice.ranks]
    size = ", ".join(map(str, shape))
    reduces = ", reduces=True" if may_reduce(choice.place) and choice.reduces else ""
    return f"{choice.place}({size}, bandwidth={choice.bandwidth}, alpha={choice.alpha}{reduces})"


def usual_algorithm(collective: str) -> str:
    """The ring where there is one, else the first by name."""
    known = list(cs.algorithms(collective))
    return f"{collective}_ring" if f"{collective}_ring" in known else known[0]


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


def usual_algorithms(collective: str) -> tuple[str, ...]:
    """What a comparison starts with: the well-known ways, in the order of their names."""
    known = cs.algorithms(collective)
    usual = [name for name, algorithm in known.items() if algorithm.pattern in _USUAL]
    return tuple(usual if len(usual) > 1 else list(known)[:5])


def found_ways(collective: str) -> list[str]:
    """What may stand among the algorithms of a comparison and is none: what is synthesized."""
    return [SYNTHESIZED] if can_be(collective) else []


def own_options(algorithm: str) -> dict[str, Option]:
    """The options of an algorithm that a person can set."""
    return {name: o for name, o in find(algorithm).options.items() if o.kind != "topology"}


def from_query(query: Mapping[str, str], start: Choice | None = None) -> tuple[Choice, list[Complaint]]:
    """The choice that an address asks for. What cannot be used falls back, with a complaint; nothing is raised."""
    base = start or Choice()
    found, complaints = read_words(WORDS.values(), query, base)
    if found.get("place") == OWN and not (found.get("own") or base.own):
        del found["place"]
        if "own" not in query:
            complaints.append(Complaint("machine", OWN, Sentence("the address does not hold the machine"), base.place))
    if found.get("place") == OWN and base.place != OWN:
        found = filed(found.get("own") or base.own) | found
    found.update(_agreed(found, query, base, complaints))
    complaints = [replace(one, used=found["algorithm"]) if one.name == "algorithm" else one for one in complaints]
    found["options"] = _options(found["algorithm"], query, complaints)
    if "algorithms" in found:
        there = (*cs.algorithms(found["collective"]), *found_ways(found["collective"]))
        found["algorithms"] = tuple(a for a in found["algorithms"] if a in there)
    made = replace(base, **found)
    if has_shape(made.place) and not made.shape:
        made = replace(made, shape=SHAPES[made.place][0])
    return made, complaints


def filed(text: str) -> dict[str, Any]:
    """Fields of a choice that is on a machine of one's own, as its file has it."""
    facts = custom_machine.facts(text)
    said = {"nodes": 1, "fabric": "switch", "p2p": True, "gdr": True} | dict(facts.asked)
    return {"place": OWN, "own": text, **{name: type(getattr(Choice, name))(said[name]) for name in facts.takes}}


def dropped(choice: Choice) -> Choice:
    """The choice without a machine of one's own; a run on it goes to the first page's machine, one node of it."""
    plain = Choice(nodes=1)
    here = {name: getattr(plain, name) for name in ("place", *MACHINE_WORDS)} if choice.place == OWN else {}
    return replace(choice, own="", **here)


def _agreed(
    found: dict[str, Any], query: Mapping[str, str], base: Choice, complaints: list[Complaint]
) -> dict[str, str]:
    """Collective and algorithm that belong together; where they do not, the collective wins if the address names it."""
    collective, algorithm = found.get("collective"), found.get("algorithm")
    if collective is None and algorithm is not None:
        return {"collective": find(algorithm).collective, "algorithm": algorithm}
    collective = collective or base.collective
    algorithm = algorithm or base.algorithm
    if algorithm in cs.algorithms(collective):
        return {"collective": collective, "algorithm": algorithm}
    usual = usual_algorithm(collective)
    if "algorithm" in found:
        its = find(algorithm).collective
        why = Sentence("it is an algorithm for {its}, not for {collective}", its=its, collective=collective)
        complaints.append(Complaint("algorithm", shortened(query["algorithm"]), why, usual))
    return {"collective": collective, "algorithm": usual}


def _options(algorithm: str, query: Mapping[str, str], complaints: list[Complaint]) -> tuple[tuple[str, Any], ...]:
    words = [
        Word(option_key(name), option_reader(o), name, instead="all" if name == "channels" else written(o.default))
        for name, o in own_options(algorithm).items()
    ]
    found, unread = read_words(words, query)
    complaints += unread
    for key in _every_option_key() & query.keys() - {option_key(name) for name in own_options(algorithm)}:
        why = Sentence("{algorithm} has no option {option}", algorithm=algorithm, option=key)
        complaints.append(Complaint(key, shortened(query[key]), why, "–"))
    return tuple(found.items())


@cache
def _every_option_key() -> frozenset[str]:
    """The options of all algorithms, as addresses have them."""
    return frozenset(option_key(name) for algorithm in cs.algorithms() for name in own_options(algorithm))


def option_key(name: str) -> str:
    """The name of an algorithm's option in the address; one that is taken already gets a prefix."""
    return f"option_{name}" if name in WORDS or name in ("lang", "t", "view", "node") else name


def to_query(choice: Choice) -> dict[str, str]:
    """The address of a choice: what it takes to ask for it again, and nothing that does not matter for it."""
    generic = choice.place in networks()
    here = {"network" if generic else "machine": choice.place}
    here |= {"own": custom_machine.packed(choice.own)} if choice.place == OWN else {}
    size = "shape" if has_shape(choice.place) else "ranks"
    names = (size, "bandwidth", "alpha") if generic else choice.takes
    names = (*names, "reduces") if may_reduce(choice.place) else names
    query = {"collective": choice.collective, "algorithm": choice.algorithm, **here}
    names = (*names, "nbytes", "dtype", "engine", *(("sharing",) if choice.engine == "event" else ()))
    query |= {name: written(getattr(choice, name)) for name in names}
    query |= {option_key(name): written(value) for name, value in choice.options}
    query |= {"algorithms": ",".join(choice.algorithms)} if choice.algorithms else {}
    query |= {"sizes": choice.sizes} if choice.sizes != Choice.sizes else {}
    query = {name: text for name, text in query.items() if text}
    plain = {
        f.name: written(f.default)
        for f in fields(Choice)
        if f.name in ("dtype", "engine", "sharing", "fabric", "p2p", "gdr", "reduces")
    }
    kept = choice.takes if choice.place == OWN else ()  # what is left out there is as the file has it
    return {name: text for name, text in query.items() if name in kept or plain.get(name) != text}


def engine_settings(choice: Choice) -> dict[str, Any]:
    """Keywords of `simulate` that belong to the engine."""
    return {"sharing": choice.sharing} if choice.engine == "event" and choice.sharing != "fair" else {}


def engine_pair(choice: Choice) -> Any:
    """The engine as `sweep` takes it: its name, or `(name, {keyword: value})`."""
    settings = engine_settings(choice)
    return (choice.engine, settings) if settings else choice.engine
