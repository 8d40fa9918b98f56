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
    meant = [name for name in load_synonyms().get(plain, ()) if name in names]
    if meant:
        return meant
    if plain in names and plain != word:
        return [plain]
    is_bare = plain == word.strip().lower()
    if "_" not in (spelled := _spell(plain)) and spelled == plain and is_bare:
        return []  # one plain word: the nearest spelling says more than every name that holds it
    parts = set(spelled.split("_"))
    near = [name for name in names if parts <= set(name.split("_"))]
    return sorted(near, key=lambda name: (not name.startswith(spelled), rank_name(name)))[:_MAX_SUGGESTED]


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
