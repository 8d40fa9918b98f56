"""What other tools and libraries call the things that collsim has a word for: the answer to a guess. The
words stand in `synonyms.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from ..package_data import TomlTable, read_toml

#: What other libraries put around a name: `ncclFloat16`, `MPI_Allreduce`, `torch.distributed.all_gather_into_tensor`.
_AFFIXES = re.compile(
    r"^(torch\.distributed\.|torch\.|dist\.|np\.|numpy\.|mpi[._]|nccl)+"
    r"|(_into_tensor|_tensor|_single|_object|_coalesced)+$"
)

_MAX_SUGGESTED = 4
#: Characters of names, and names, that are compared to find the one that was meant: a search takes their product.
_LONGEST_NAME = 200
_MAX_COMPARED = 10_000


@cache
def _load_tables() -> TomlTable:
    return read_toml(__file__, "synonyms.toml")


@cache
def load_synonyms() -> Mapping[str, tuple[str, ...]]:
    """A word of NCCL, MPI, PyTorch or numpy -> what it may mean here, the likeliest first."""
    return {word: tuple(row["means"]) for row in _load_tables()["rows"] for word in row["words"]}


@cache
def load_absent_names() -> Mapping[str, str]:
    """A name that a library does not have, though articles print it, or that no prediction reads -> what there is in
    its place: the English template, whose translations are those of errors."""
    return {word: row["reason"] for row in _load_tables()["absent"] for word in row["words"]}


@cache
def load_commands() -> Mapping[str, str]:
    """What other tools call a command, or what people try first -> the command."""
    return {word: row["means"] for row in _load_tables()["commands"] for word in row["words"]}


def find_synonyms(word: str, known: Iterable[str]) -> list[str]:
    """Find the names that a word of another tool, library or language stands for.

    Args:
        word: What somebody wrote: `"world_size"`, `"ncclFloat16"`, `"Ring-Allreduce"`, `"参数服务器"`.
        known: The names that there are.

    Returns:
        Those of `known` that are meant, the likeliest first; none where the word says nothing.

    Examples:
        >>> find_synonyms("Ring-AllReduce", ["allgather_ring", "allreduce_ring", "allreduce_tree"])
        ['allreduce_ring']
        >>> find_synonyms("ncclFloat16", ["float16", "bfloat16"])
        ['float16']
    """
    names, plain = list(known), simplify_word(word)
    if plain in names and plain != word:
        return [plain]
    meant = [name for name in load_synonyms().get(plain, ()) if name in names]
    if meant:
        return meant
    is_bare = plain == word.strip().lower()
    if "_" not in (spelled := _spell(plain)) and spelled == plain and is_bare:
        return []  # one plain word: the nearest spelling says more than every name that holds it
    parts = set(spelled.split("_"))
    near = [name for name in names if parts <= set(name.split("_"))]
    return sorted(near, key=lambda name: (not name.startswith(spelled), rank_name(name)))[:_MAX_SUGGESTED]


def find_near_names(word: str, known: Iterable[str]) -> list[str]:
    """Find the names that somebody may have meant: what a word of another tool or language stands for, else those of
    nearly the same spelling, and those that contain it.

    Args:
        word: What somebody wrote, which is no name.
        known: The names that there are, the likelier first where two are as near.

    Returns:
        The names, the likeliest first; none where no name is near.

    Examples:
        >>> find_near_names("ring", ["allgather_ring", "allreduce_ring", "allreduce_tree"])
        ['allreduce_ring', 'allgather_ring']
    """
    from difflib import get_close_matches  # only mistakes need it

    names, plain = list(known), word.lower()
    if synonyms := find_synonyms(word, names):
        return synonyms
    short = [name for name in names[:_MAX_COMPARED] if len(name) <= _LONGEST_NAME]
    if len(word) > _LONGEST_NAME:
        return []
    if of_collective := sorted((name for name in short if name.startswith(f"{plain}_")), key=rank_name):
        return of_collective[:_MAX_SUGGESTED]
    close = get_close_matches(word, short, n=3, cutoff=0.6) or get_close_matches(plain, short, n=3, cutoff=0.6)
    if len(plain) > 2:
        close += sorted((name for name in short if plain in name.lower() and name not in close), key=rank_name)[:5]
    if not close:  # "ring-allreduce" where the names are those of networks
        parts = set(plain.replace("-", "_").replace(" ", "_").split("_"))
        close = [name for name in short if set(name.split("_")) < parts]
    return close


def rank_name(name: str) -> tuple[bool, bool, int, str]:
    """Make a key to sort by: articles that name no collective mean allreduce, those that name no algorithm the ring.

    Args:
        name: A name that there is.

    Returns:
        The key; likely names sort first.
    """
    return not name.startswith("allreduce"), not name.endswith("_ring"), name.count("_"), name


def simplify_word(word: str) -> str:
    """Write a word in small letters, without the marks that a library puts around it.

    Args:
        word: What somebody wrote: `"ncclFloat16"`, `"dist.reduce_grad"`.

    Returns:
        `"float16"`, `"reduce_grad"`.
    """
    return _AFFIXES.sub("", re.sub(r"[\s-]+", "_", word.strip().lower()))


def _spell(plain: str) -> str:
    """The word with collsim's spelling of each of its parts, those in another order or language too."""
    for other, ours in _load_tables()["spellings"].items():
        plain = plain.replace(other, f"_{ours}_")
    abbreviations = _load_tables()["abbreviations"]
    parts = [abbreviations.get(part, part) for part in plain.split("_") if part]
    return "_".join(parts)
