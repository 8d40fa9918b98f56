"""The words of the field: what each means and where collsim shows it. Their table is `glossary.csv`, their meanings in
Chinese are in `zh/glossary.csv`; `docs/make_glossary.py` writes the pages from both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from ..package_data import read_csv, read_package_file
from . import Language, Text, complete_text
from .name_families import find_family
from .synonyms import find_near_names, simplify_word

#: What divides the names in a cell. Chinese cells have brackets around a second name.
_DIVIDERS = re.compile(r"[、，（）；]|, | \(|\)$")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MAX_ENTRIES = 3
_MAX_NEAR = 4
_LONGEST_WORD = 60  # characters of a word that is looked up
#: Endings of English words, and the letters that one must have before they are left out.
_ENDINGS = ("s", "es", "d", "ed", "ly")
_SHORTEST_STEM = 3
#: Endings of the plural that replace another: "topologies", "matrices".
_PLURALS = {"ies": "y", "ices": "ix"}
#: Parts of a compound: words, numbers, and each Chinese character.
_HAN = re.compile(r"[\u4e00-\u9fff]")
_PARTS = re.compile(r"[\u4e00-\u9fff]|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[α-ω]")


@dataclass(frozen=True)
class GlossaryEntry:
    """A row of the glossary.

    Attributes:
        term: its names in English, with commas between them.
        chinese: its names in Chinese.
        meaning: what it is, and what of collsim shows it, as plain text.
        chinese_meaning: the same in Chinese.
        section: where the page has it.
    """

    term: str
    chinese: str
    meaning: str
    chinese_meaning: str
    section: str

    def text(self, language: Language = "en") -> str:
        """Its names and its meaning.

        Args:
            language: `en` or `zh`; the names in that language come first.
        """
        if language == "zh":
            return f"{self._join_names(self.chinese, self.term)}：{self.chinese_meaning}"
        return f"{self._join_names(self.term, self.chinese)}: {self.meaning}"

    def _join_names(self, first: str, second: str) -> str:
        if first == second:
            return first
        return f"{first} · {second}"

    def __str__(self) -> str:
        return self.text()

    @property
    def meanings(self) -> Text:
        """What it means, in each language."""
        return complete_text((self.meaning, self.chinese_meaning))

    @property
    def names(self) -> list[str]:
        """Each of its names, those in Chinese too."""
        return [name.strip() for cell in (self.term, self.chinese) for name in _DIVIDERS.split(cell) if name.strip()]


@cache
def list_entries() -> tuple[GlossaryEntry, ...]:
    """All rows, in the order of the page."""
    chinese = load_chinese_meanings()
    entries: list[GlossaryEntry] = []
    for row in read_csv(__file__, "glossary.csv"):
        term, english = row["term"], row["meaning"]
        in_english, in_chinese = (_LINK.sub(r"\1", meaning) for meaning in (english, chinese.get(term, english)))
        entries.append(GlossaryEntry(term, row["chinese"], in_english, in_chinese, row["section"]))
    return tuple(entries)


def load_chinese_meanings() -> dict[str, str]:
    """The Chinese meaning of each term that has one, with its links."""
    table = Path(__file__).parent / "zh" / "glossary.csv"
    return {row["term"]: row["meaning"] for row in read_csv(str(table), table.name)}


def find_entries(word: str) -> list[GlossaryEntry]:
    """Find the rows of the glossary that explain a word, whatever its capitals, hyphens and prefixes.

    Args:
        word: as an article or a program has it: `"All-Reduce"`, `"torch.distributed.all_reduce"`, `"全归约"`.

    Returns:
        At most three rows: those with that name; if there is none, those whose meaning names it as code; of a name that
        its form explains, such as `"MPI_Iallgatherv"`, its family; of a compound whose parts all have rows, such as
        `"网卡驱动"`, the first row of each part.

    Examples:
        >>> find_entries("nn.parallel.DistributedDataParallel")[0].chinese
        'DDP（分布式数据并行）'
        >>> [entry.chinese for entry in find_entries("网卡驱动")]
        ['网卡', '驱动、GPU 驱动']
    """
    if len(word) > _LONGEST_WORD:
        return []
    if rows := _find_rows(word):
        return rows[:_MAX_ENTRIES]
    if match := find_family(word):
        family, base = match
        entry = GlossaryEntry(family.form, family.form, family.en, family.zh, "Families of names")
        return [entry, *_find_rows(base)][:_MAX_ENTRIES]
    parts = _divide_compound(tuple(_PARTS.findall(word))) or ()
    return list(dict.fromkeys(_find_rows(part)[0] for part in parts))[:_MAX_ENTRIES]


def _find_rows(word: str) -> list[GlossaryEntry]:
    """The rows with a word as their name, or else as code in their meanings."""
    by_name, by_code = _index_entries()
    for key in _list_keys(word):
        for entries in (by_name, by_code):
            if key in entries:
                return entries[key]
    return []


@lru_cache(maxsize=4096)  # what anybody may ask for must not stay for ever
def _divide_compound(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The parts of a compound as the longest names that have rows, without words such as "of"; None where a part has
    no row."""
    if not parts:
        return ()
    for end in range(len(parts), 0, -1):
        name = _join_parts(parts[:end])
        if _find_rows(name) and (rest := _divide_compound(parts[end:])) is not None:
            return name, *rest
    for length in (2, 1):  # linking words of Chinese have up to two characters
        if parts[0].isdecimal() or _join_parts(parts[:length]).lower() in _load_linking_words():
            return _divide_compound(parts[length:])
    return None


@cache
def _load_linking_words() -> frozenset[str]:
    """What a compound may have beside its parts without another meaning: "多个设备", "训练时", "tree-based"."""
    return frozenset(read_package_file(__file__, "linking_words.txt").split())


def _join_parts(parts: Sequence[str]) -> str:
    """Words with spaces between them, characters of Chinese without."""
    return "".join(part if _HAN.fullmatch(part) else f" {part} " for part in parts).strip()


def find_near_terms(word: str) -> list[str]:
    """Find names of the glossary that a word may be a misspelling or a part of.

    Args:
        word: a word without a row.

    Returns:
        At most four names, the nearest first, then those that are a part of it.
    """
    if not 1 < len(word) <= _LONGEST_WORD:
        return []
    names = {name.lower(): name for entry in list_entries() for name in entry.names}
    near, parts = find_near_names(word, names), {part.lower() for part in _PARTS.findall(word)} & names.keys()
    near += sorted(parts - {*near}, key=len, reverse=True)
    return [names[name] for name in near[:_MAX_NEAR]]


@cache
def _index_entries() -> tuple[Mapping[str, list[GlossaryEntry]], Mapping[str, list[GlossaryEntry]]]:
    """Rows by their names, and by the code in their meanings."""
    by_name: dict[str, list[GlossaryEntry]] = {}
    by_code: dict[str, list[GlossaryEntry]] = {}
    for entry in list_entries():
        for name in entry.names:
            _add(by_name, _squeeze(name), entry)
        for code in _CODE.findall(entry.meaning):
            for word in re.findall(r"[\w.-]{3,}", code):
                _add(by_code, _squeeze(word.rpartition(".")[2]), entry)
    return by_name, by_code


def _add(entries: dict[str, list[GlossaryEntry]], key: str, entry: GlossaryEntry) -> None:
    listed = entries.setdefault(key, [])
    if key and entry not in listed:
        listed.append(entry)


def _list_keys(word: str) -> list[str]:
    """The forms under which a word is looked for, the fullest first."""
    plain = word.strip().removesuffix("()").removesuffix("（）")
    last = plain.rpartition(".")[2]
    keys = [_squeeze(form) for form in (plain, last, simplify_word(plain), simplify_word(last))]
    stems = [key.removesuffix(ending) for key in keys if len(key) > _SHORTEST_STEM for ending in _ENDINGS]
    for plural, singular in _PLURALS.items():
        stems += [key.removesuffix(plural) + singular for key in keys if key.endswith(plural)]
    return [key for key in dict.fromkeys([*keys, *stems]) if key]


def _squeeze(name: str) -> str:
    """A name in small letters, without spaces, hyphens and other marks."""
    return re.sub(r"[\W_]+", "", name.lower())
