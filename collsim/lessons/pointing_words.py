"""Words of a lesson's text that point at its picture: ranks, chunks, devices and cables by their names.

The names are a catalog, `collsim/locale/<language>/pictures/pointing_words.json`: for each kind of thing the phrases
that name it, separated by `|`. `#` in a phrase is a number.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

from ..display.markup import escape_text
from ..locale import LANGUAGES, build_text
from ..simulate import Trace
from ..viz.layout.arrangement import lay_out

#: What a kind of thing is in a picture: kinds of its devices or of its cables, as `collsim.topology` names them.
_DEVICES = {"memory": "memory", "pcie_switch": "pcie", "nvswitch": "nvswitch", "card": "nic"}
_CABLES = {"nvlink": "nvlink", "infiniband": "infiniband"}


@dataclass(frozen=True)
class PictureContents:
    """What the picture of a run shows, and texts may point at.

    Attributes:
        ranks: Number of ranks.
        chunks: Number of chunks.
        devices: Kinds of its devices; empty where the picture has ranks only.
        cables: Kinds of its cables; likewise.
    """

    ranks: int
    chunks: int
    devices: frozenset[str] = frozenset()
    cables: frozenset[str] = frozenset()


def list_picture_contents(trace: Trace, view: str) -> PictureContents:
    """What the picture of a run shows.

    Args:
        trace: The run.
        view: The view of the player, `physical` or `logical`.
    """
    ranks, chunks = trace.schedule.ranks, trace.schedule.slots
    if view == "logical":
        return PictureContents(ranks, chunks)
    picture = lay_out(trace.topology, trace.link_bytes).picture
    return PictureContents(ranks, chunks, frozenset(picture.kind), frozenset(picture.link_kind))


def mark_pointing_words(text: str, contents: PictureContents, language: str) -> str:
    """The text as HTML, in which words that name something of the picture carry what they name in `data-lights`, each
    thing once.

    Args:
        text: A paragraph.
        contents: What the picture shows.
        language: `en` or `zh`.
    """
    pattern, names = _build_pattern(language)
    parts, end, seen = [], 0, set()
    for match in pattern.finditer(text):
        lights = _find_thing(names[match.lastgroup or ""], match, contents)
        if lights is None or lights in seen:
            continue
        seen.add(lights)
        word = escape_text(match.group())
        parts.append(escape_text(text[end : match.start()]))
        parts.append(f'<span class="cs-points" tabindex="0" data-lights="{escape_text(lights)}">{word}</span>')
        end = match.end()
    return "".join([*parts, escape_text(text[end:])])


@cache
def _build_pattern(language: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern of all phrases, longer ones first, with a group for each; and the thing that each group names."""
    position = LANGUAGES.index(language)
    phrases = [
        (phrase, thing)
        for thing in ("rank", "chunk", "all_ranks", "all_cables", "busiest_cable", *_DEVICES, *_CABLES)
        for phrase in build_text("pictures", f"pointing.{thing}")[position].split("|")
    ]
    phrases.sort(key=lambda entry: -len(entry[0]))
    names, alternatives = {}, []
    for number, (phrase, thing) in enumerate(phrases):
        names[f"g{number}"] = thing
        alternatives.append(f"(?P<g{number}>{re.escape(phrase).replace(re.escape('#'), '[0-9]+')})")
    # No part of a longer word or number: "GPU 1" is not in "GPU 12", nor "8 ranks" in "128 ranks".
    edges = r"(?<![A-Za-z0-9_.,])", r"(?![A-Za-z0-9_])"
    return re.compile(f"{edges[0]}(?:{'|'.join(alternatives)}){edges[1]}", re.IGNORECASE), names


def _find_thing(thing: str, match: re.Match[str], contents: PictureContents) -> str | None:
    """What a word names as JSON, as the player reads it; None where the picture does not show it."""
    number = next(map(int, re.findall("[0-9]+", match.group())), None)
    lights: dict[str, object] = {}
    if thing == "rank" and number is not None and number < contents.ranks:
        lights = {"ranks": [number]}
    elif thing == "chunk" and number is not None and number < contents.chunks:
        lights = {"chunk": number}
    elif thing == "all_ranks" and number in (None, contents.ranks):
        lights = {"ranks": "all"}
    elif thing in ("all_cables", "busiest_cable"):
        lights = {"cables": thing.removesuffix("_cables").removesuffix("_cable")}
    elif _DEVICES.get(thing) in contents.devices:
        lights = {"devices": _DEVICES[thing]}
    elif _CABLES.get(thing) in contents.cables:
        lights = {"cables": _CABLES[thing]}
    return json.dumps(lights) if lights else None
