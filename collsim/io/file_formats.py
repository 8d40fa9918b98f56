"""The registry of file formats: one entry each, one file each; `load`, `save` and `convert` find the entry by suffix
and content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Literal

from ..display.catalog import Catalog, Row
from ..errors import CollsimError, FormatError, Sentence, require_path, require_word
from ..errors.arguments import check_arguments
from ..errors.collected_warnings import warn
from ..files import FilePath, find_encoding, read_head, require_writable_file
from ..limits import FILE_MEMORY, find_memory_limit, within
from ..package_data import TomlTable, read_toml
from ..plugins import format_in_line, list_entries, register_into
from ..plugins import load as load_plugins
from ..registry import load_algorithm
from ..schedule import Schedule
from ..simulate import Trace
from ..topology import Topology
from ..topology.files.unread import find_unread_format

Holds = Literal["schedule", "topology", "trace", "table", "log"]
_HEAD = 2**20


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes:
        name: `msccl`, `goal` ...; what `format=` takes.
        suffixes: with the dot, longest first in a match: `.trace.json` before `.json`.
        holds: what it is read into or written from.
        about: one line for lists.
        read: `read(path, **options)`, or None.
        write: `write(thing, path, **options)`, or None.
        looks: does the beginning of a file (at most 1 MiB, as text) look like this format?
        options: keywords of `write` (or `read`) that people may give, with what they mean.
        chinese: `about` in Chinese, for the app and the page of formats; where it is empty, `about` stands there.

    Examples:
        >>> import collsim as cs
        >>> cs.io.formats()["msccl"].suffixes
        ('.xml',)
    """

    name: str
    suffixes: tuple[str, ...]
    holds: Holds
    about: str
    read: Callable[..., object] | None = None
    write: Callable[..., None] | None = None
    looks: Callable[[str], bool] = lambda head: True
    options: tuple[tuple[str, str], ...] = ()
    chinese: str = ""


#: Formats of the package as their modules are imported, and all formats.
_BUILT_IN: dict[str, Format] = {}
_FORMATS: dict[str, Format] = {}


@check_arguments
def register(entry: Format) -> Format:
    """Add a format, or replace the one of that name.

    Args:
        entry: The format.

    Returns:
        The same.

    Examples:
        >>> import collsim as cs
        >>> cs.io.register(cs.io.formats()["csv"]).name
        'csv'
    """
    _FORMATS[entry.name] = entry
    return entry


@cache
def _read_rows() -> TomlTable:
    return read_toml(__file__, "formats.toml")


def register_built_in(name: str, **functions: Any) -> None:
    """Add a format of the package, which `formats.toml` describes.

    Args:
        name: Its key there.
        **functions: `read`, `write` and `looks` of the Format, those that it has.
    """
    row = _read_rows()[name]
    about, chinese = row["about"]
    options = tuple(row.get("options", {}).items())
    suffixes = tuple(row["suffixes"])
    _BUILT_IN[name] = Format(name, suffixes, row["holds"], about, options=options, chinese=chinese, **functions)


@cache
def _import_formats() -> None:
    """Import every module of this folder; their formats are in the order of `formats.toml`, whichever came first."""
    for module in walk_packages([str(Path(__file__).parent)], "collsim.io."):
        import_module(module.name)
    for name in _read_rows():
        _FORMATS.setdefault(name, _BUILT_IN[name])


def _load_formats() -> dict[str, Format]:
    _import_formats()
    load_plugins("collsim.formats", _add_plugin)
    return _FORMATS


def _add_plugin(entry: Callable[[], object]) -> None:
    """Take what a package names: a module that calls `register`, a Format, or a list of them."""
    register_into(_FORMATS, lambda: _add(entry()))


def _add(things: object) -> None:
    for entry in list_entries(things):
        if not isinstance(entry, Format):
            raise CollsimError("{thing!r} is no Format; name a Format or a module that registers one", thing=entry)
        if _FORMATS.get(entry.name) is not entry:
            register(entry)


@check_arguments
def formats() -> Catalog[Format]:
    """The file formats by name, including those of other installed packages.

    Returns:
        A mapping from names to formats, which prints as a table.

    Examples:
        >>> import collsim as cs
        >>> cs.io.formats()["msccl"].holds
        'schedule'
    """
    return Catalog(dict(sorted(_load_formats().items())), _describe_format)


def _describe_format(entry: Format) -> Row:
    return {
        "suffixes": " ".join(entry.suffixes),
        "holds": entry.holds,
        "read": entry.read is not None,
        "write": entry.write is not None,
        "what": entry.about,
    }


@check_arguments
def load(path: FilePath, format: str | None = None, **options: object) -> Any:
    """Load a file. The suffix says which format it is; where several share one, the beginning of the file does.

    Args:
        path: Of the file.
        format: Its name, where neither says it.
        options: Of the reader.

    Returns:
        A Schedule, a Topology, a table of measurements, an NCCL log, or (from `.py`) an Algorithm.

    Raises:
        FormatError: For a file that is none of them or is damaged.
        CollsimError: For an unknown `format`.

    Examples:
        >>> import collsim as cs
        >>> cs.load("examples/algorithm.xml")  # doctest: +SKIP
    """
    name = str(require_path(path))
    if format is None and (name.endswith(".py") or ".py:" in name):
        return load_algorithm(name)
    if format is not None:
        entry = _find_format(format)
    else:
        entry = _guess(path)
    if entry.read is None:
        message = "{name} can be written but not read; it can be read: {known}"
        raise CollsimError(message, name=entry.name, known=_format_names(e for e in _load_formats().values() if e.read))
    with within(find_memory_limit(FILE_MEMORY)):
        return entry.read(path, **options)


@check_arguments
def save(thing: object, path: FilePath, format: str | None = None, **options: object) -> Path:
    """Write a thing to a file, whole or not at all.

    Args:
        thing: A Schedule, a Topology, a Trace or a table.
        path: Of the file; its suffix says the format.
        format: Its name, where the suffix does not say it.
        options: Of the writer.

    Returns:
        The path.

    Raises:
        CollsimError: For a thing or suffix that no format takes.

    Examples:
        >>> import collsim as cs
        >>> cs.save(cs.schedule("allreduce_ring", ranks=4), "ring.xml")  # doctest: +SKIP
    """
    target = require_path(path)
    check_arguments(_find_writer(_find_kind(thing), path, format))(thing, path, **options)
    return target


def require_writable(holds: str, path: FilePath) -> Path:
    """Check that something can be written to a file, before there is anything to write.

    Args:
        holds: What will be written: `schedule`, `trace` ...
        path: Of the file.

    Returns:
        The path.

    Raises:
        CollsimError: No format writes that to its suffix, or nothing can be written there.
    """
    target = require_path(path)
    require_writable_file(target)
    _find_writer(holds, path, None)
    return target


def _find_writer(holds: str, path: FilePath, format: str | None) -> Callable[..., None]:
    if format is not None:
        entry = _find_format(format)
        if entry.write is None or entry.holds != holds:
            able = _format_names(e for e in _load_formats().values() if e.write and e.holds == holds)
            message = "{name} cannot be written from a {holds}; what can: {able}"
            raise CollsimError(message, name=entry.name, holds=holds, able=able)
        return entry.write
    writer = next((e.write for e in _list_by_suffix(path) if e.write is not None and e.holds == holds), None)
    if writer is not None:
        return writer
    known = sorted({s for e in _load_formats().values() if e.write and e.holds == holds for s in e.suffixes})
    message = "no format writes a {holds} to {name!r}; its suffixes: {known}"
    raise CollsimError(message, holds=holds, name=Path(path).name, known=", ".join(known) or Sentence("none"))


@check_arguments
def convert(
    source: FilePath, target: FilePath, *, read_as: str | None = None, write_as: str | None = None, **options: object
) -> Any:
    """Load one file and save it as another. A log is converted as the schedule that it describes.

    Args:
        source: The file that is read.
        target: The file that is written.
        read_as: Format of the source, where its suffix does not say it.
        write_as: Format of the target, where its suffix does not say it.
        options: Of the writer: `nbytes=` for formats with bytes.

    Returns:
        What was in the file.

    Raises:
        FormatError: The source is damaged.
        CollsimError: No format reads the source or writes the target.

    Examples:
        >>> import collsim as cs
        >>> path = cs.save(cs.schedule("allreduce_ring", ranks=4), "ring.xml")
        >>> cs.io.convert(path, "ring.csv").steps
        6
    """
    thing = load(source, read_as)
    if hasattr(thing, "schedule") and not isinstance(thing, (Schedule, Trace)):
        thing = thing.schedule()
    save(thing, target, write_as, **options)
    return thing


def _find_kind(thing: object) -> str:
    if isinstance(thing, Schedule):
        return "schedule"
    if isinstance(thing, Topology):
        return "topology"
    if isinstance(thing, Trace):
        return "trace"
    if hasattr(thing, "columns") and hasattr(thing, "iloc"):
        return "table"
    message = "cannot save a {kind}; give a schedule, a topology, a trace or a table"
    raise CollsimError(message, kind=type(thing).__name__)


def _find_format(name: str) -> Format:
    return _load_formats()[require_word("format", name, _load_formats())]


def _list_by_suffix(path: FilePath) -> list[Format]:
    """Formats whose suffix the file has, the longest suffix first."""
    name = Path(path).name.lower().removesuffix(".gz")
    entries = [entry for entry in _load_formats().values() if name.endswith(entry.suffixes)]
    return sorted(entries, key=lambda entry: -max(len(s) for s in entry.suffixes if name.endswith(s)))


def _guess(path: FilePath) -> Format:
    head = read_head(path, _HEAD)
    text = head.decode(find_encoding(head), "replace")
    sharing = [e for e in _list_by_suffix(path) if e.read is not None]
    fitting = [e for e in sharing if _is_like(e, text)]
    # Several formats share an ending (`.xml`, `.json`), so the text decides among them.
    if fitting:
        return fitting[0]
    unread = find_unread_format(text)
    if unread is not None:
        raise unread.build_error(Path(path).name)
    if len(sharing) == 1:
        return sharing[0]  # let its reader say what is wrong
    if not sharing:
        # No format has this ending: formats that can be told by their text are still tried.
        tellable = [e for e in _load_formats().values() if e.read is not None and e.looks is not Format.looks]
        others = [e for e in tellable if _is_like(e, text)]
        if others:
            return others[0]
    written = next((e.name for e in _list_by_suffix(path) if e.read is None), None)
    if written and not sharing:
        message = "{name}: {written} files can be written, but not be loaded"
        raise FormatError(message, name=Path(path).name, written=written)
    known = _format_names(sharing or (e for e in _load_formats().values() if e.read))
    message = "{name}: its beginning does not look like any of: {known}; correct it, or name its format"
    raise FormatError(message, name=Path(path).name, known=known)


def find_schedule_format(text: str) -> str:
    """Return the name of the first format of schedules that a text looks like; "" for none.

    Args:
        text: of a file, or its beginning.
    """
    entries = (entry for entry in _load_formats().values() if entry.holds == "schedule" and entry.read is not None)
    return next((entry.name for entry in entries if entry.looks is not Format.looks and _is_like(entry, text)), "")


def _is_like(entry: Format, text: str) -> bool:
    """Does a file look like a format? One of another package that fails at it is passed over with a warning."""
    try:
        return bool(entry.looks(text))
    except (Exception, SystemExit) as error:
        where = getattr(entry.looks, "__module__", None) or type(entry.looks).__module__
        warn(
            f"the format {entry.name!r} ({where}) fails at telling whether a file is its own, and is passed over: "
            f"{format_in_line(error)}"
        )
        return False


def _format_names(entries: Iterable[Format]) -> str:
    return ", ".join(sorted({f"{e.name} ({' '.join(e.suffixes)})" for e in entries}))
