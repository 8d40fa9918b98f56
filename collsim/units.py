"""Bytes, seconds, bytes per second: the factors of their units, reading and writing.

Inside collsim every quantity is a plain number in bytes, seconds or bytes per second. At every interface a person may
write `"64MiB"`, `"25GB/s"`, `"400Gbit/s"`, `"1.5us"`. `GB` is 10^9 bytes, `GiB` is 2^30 (IEC 80000-13), `Gbit` is 10^9
bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn, SupportsFloat, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from .errors import CollsimError, Sentence, Words, format_value
from .errors.arguments import check_arguments

#: A number of bytes, or text with a unit of bytes: `65536`, `"64KiB"`, `"1GB"`.
ByteSize: TypeAlias = int | np.integer[Any] | str
#: A number of seconds, or text with a unit of time: `1.5e-6`, `"1.5us"`.
Duration: TypeAlias = float | str
#: A number of bytes per second, or text with a unit of them: `25e9`, `"25GB/s"`, `"400Gbit/s"`.
Bandwidth: TypeAlias = float | str
#: The type of an element: a name of `list_dtypes()`, or numpy's own type.
DataType: TypeAlias = str | np.dtype[Any] | type
#: Numbers of ranks, counted from 0.
RankSelection: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_PREFIX = {**_DECIMAL, **_BINARY}
#: Both signs of micro are there: U+00B5 of keyboards, and the Greek letter U+03BC.
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")
_MAX_COUNT = 2**62  # of anything: arrays are numbered with 64 bits
#: Bytes, 1 EiB: no size is more.
MAX_BYTES = 2**60
#: s: no time is longer; sums of such stay numbers.
_LONGEST = 1e18
#: Digits before or after the point of a number in a text.
_MAX_DIGITS = 30
_TOO_LONG = re.compile(r"[\d_,]{31}|\.\d{31}|[eE][+-]?\d{4}")
#: A size as text, with a unit or without, as a regular expression that JavaScript reads as well.
SIZE = (
    r"\s*\+?([0-9][0-9_,]{0,29}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?"
    r"\s*((Ki|Mi|Gi|Ti|Pi|[kKMGTP])?(B|bytes?|bits?))?\s*"
)
#: The factor between sizes of a range, likewise.
FACTOR = r"\s*[0-9.eE+]{1,30}\s*"
_WHOLE = re.compile(r"\s*\d{1,30}\s*", re.ASCII)
_BYTES = re.compile(r"(Ki|Mi|Gi|Ti|Pi|[kKMGTP]?)(B|bytes?|bit|bits|b)")


@check_arguments
def parse_bytes(value: object, what: Words = "nbytes") -> int:
    """Read a size.

    Args:
        value: bytes, as a whole number or a text with a unit: `"64MiB"`, `"1GB"`, `"512"`.
        what: the parameter's name, for the message.

    Returns:
        Bytes.

    Raises:
        CollsimError: it is no size, negative, not a whole number of bytes, more than 1 EiB, or ambiguous as `"64M"`.

    Examples:
        >>> parse_bytes("64KiB"), parse_bytes("1GB"), parse_bytes(8)
        (65536, 1000000000, 8)
    """
    size: float
    if isinstance(value, str):
        number, unit = _split_unit(value, what)
        if unit:
            size = number * _find_byte_factor(unit, value, what)
        elif _WHOLE.fullmatch(value):
            size = int(value)  # above 2^53 a float would round it
        else:
            size = number
    elif isinstance(value, Integral) and not isinstance(value, bool):
        size = int(value)
    else:
        size = _parse_number(value, what)
    if size < 0:
        _refuse_value("{what}={value} is negative; a size is 0 bytes or more", what, value)
    if size > MAX_BYTES:
        _refuse_value("{what}={value} is more than 1 EiB; is the unit right?", what, value)
    if abs(size - round(size)) > 1e-6 * max(1.0, size * 1e-9):
        _refuse_value("{what}={value} is {size:g} bytes; a size is a whole number of bytes", what, value, size=size)
    return round(size)


@check_arguments
def parse_bandwidth(value: object, what: Words = "bandwidth") -> float:
    """Read a rate.

    Args:
        value: B/s, as a number or a text with a unit: `"25GB/s"`, `"400Gbit/s"`, `"400Gbps"`.
        what: the parameter's name, for the message.

    Returns:
        Bytes per second, more than 0.

    Raises:
        CollsimError: it is no rate, not more than 0, or its unit has no time in it.

    Examples:
        >>> parse_bandwidth("25GB/s"), parse_bandwidth("400Gbit/s")
        (25000000000.0, 50000000000.0)
    """
    if isinstance(value, str):
        number, unit = _split_unit(value, what)
        rate = re.fullmatch(r"(.+?)(/s|ps)", unit)
        if unit == "":
            result = number
        elif rate is None:
            _refuse_value(
                "{what}={value} has no time in its unit; write for example '25GB/s' or '400Gbit/s'", what, value
            )
        else:
            result = number * _find_byte_factor(rate[1], value, what, b_is_bit=rate[2] == "ps")
    else:
        result = _parse_number(value, what)
    if not result > 0:
        _refuse_value("{what}={value} must be more than 0 bytes per second", what, value)
    return float(result)


@check_arguments
def parse_time(value: object, what: Words = "alpha") -> float:
    """Read a time.

    Args:
        value: s, as a number or a text with a unit: `"1.5us"`, `"2 ms"`.
        what: the parameter's name, for the message.

    Returns:
        Seconds, from 0 to 10^18, so that sums of them stay numbers.

    Raises:
        CollsimError: it is no time, negative or longer, or its unit is unknown.

    Examples:
        >>> parse_time("1.5us"), parse_time(2)
        (1.5e-06, 2.0)
    """
    if isinstance(value, str):
        number, unit = _split_unit(value, what)
        if unit and unit not in _SECONDS:
            _refuse_value(
                "{what}={value}: unknown unit of time {unit}; use s, ms, us or ns", what, value, unit=format_value(unit)
            )
        result = number * _SECONDS[unit or "s"]
    else:
        result = _parse_number(value, what)
    if result < 0:
        _refuse_value("{what}={value} is negative; a time is 0 s or more", what, value)
    if result > _LONGEST:
        _refuse_value("{what}={value} is too long; a time is at most {most:g} s", what, value, most=_LONGEST)
    return float(result)


@check_arguments
def parse_count(value: object, what: Words, least: int = 1) -> int:
    """Read a whole number of things.

    Args:
        value: a whole number, or a text with one.
        what: the parameter's name, for the message.
        least: the smallest that is accepted.

    Returns:
        The number.

    Raises:
        CollsimError: it is no whole number, below `least`, or more than arrays can number.

    Examples:
        >>> parse_count("8", "ranks")
        8
    """
    try:
        number = int(value) if isinstance(value, str) else _parse_number(value, what)
    except CollsimError:
        raise
    except ValueError:
        _refuse_value("{what}={value} is not a whole number", what, value)
    if number != int(number):
        _refuse_value("{what}={value} is not a whole number", what, value)
    if number < least:
        _refuse_value("{what}={value} is too small; {what} is at least {least}", what, value, least=least)
    if number > _MAX_COUNT:
        _refuse_value("{what}={value} is too large; {what} is at most {most:,}", what, value, most=_MAX_COUNT)
    return int(number)


@check_arguments
def format_bytes(nbytes: float) -> str:
    """Write a size with three significant digits, in multiples of 1,024.

    Args:
        nbytes: bytes.

    Returns:
        The text.

    Raises:
        CollsimError: it is no number.

    Examples:
        >>> format_bytes(2**24), format_bytes(1536), format_bytes(8)
        ('16 MiB', '1.5 KiB', '8 B')
    """
    units = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
    return _format_in_units(_require_number(nbytes, "nbytes"), units, ("B", 1), least=1.0)


@check_arguments
def format_time(seconds: float) -> str:
    """Write a time with three significant digits, in s, ms, µs or ns.

    Args:
        seconds: s.

    Returns:
        The text.

    Raises:
        CollsimError: it is no number.

    Examples:
        >>> format_time(0.004726), format_time(1.5e-6)
        ('4.73 ms', '1.5 µs')
    """
    return _format_in_units(_require_number(seconds, "seconds"), (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)), ("ns", 1e9))


@check_arguments
def format_energy(kwh: float) -> str:
    """Write an energy with three significant digits, from GWh to µWh; the same in every language.

    Args:
        kwh: kilowatt-hours.

    Returns:
        The text.

    Raises:
        CollsimError: it is no number.

    Examples:
        >>> format_energy(3.02e-5), format_energy(3450.0)
        ('30.2 mWh', '3.45 MWh')
    """
    units = (("GWh", 1e6), ("MWh", 1e3), ("kWh", 1.0), ("Wh", 1e-3), ("mWh", 1e-6))
    return _format_in_units(_require_number(kwh, "kwh"), units, ("µWh", 1e9))


@check_arguments
def format_percent(share: float) -> str:
    """Write a share as a percentage with three significant digits.

    Args:
        share: a part of a whole, 1 for all of it.

    Returns:
        The text.

    Examples:
        >>> format_percent(0.995)
        '99.5 %'
    """
    return f"{100 * share:.3g} %"


@check_arguments
def format_plain(number: float, digits: int = 3) -> str:
    """Write a positive number with some significant digits and without an exponent, its thousands apart.

    Args:
        number: the number.
        digits: significant digits of what is behind the point; whole digits are all written.

    Returns:
        The text.

    Examples:
        >>> format_plain(0.00000302), format_plain(28_730.4), format_plain(1.5)
        ('0.00000302', '28,730', '1.5')
    """
    if not number:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    text = f"{number:,.{decimals}f}"
    if decimals:
        text = text.rstrip("0").rstrip(".")
    return text


@check_arguments
def format_numbers(numbers: Iterable[int], most: int = 8) -> Words:
    """List whole numbers, with ranges in place of three and more that follow one another.

    Args:
        numbers: in the order of the text.
        most: numbers and ranges that are written out.

    Returns:
        The list; it ends with how many numbers it leaves out, where it does.

    Examples:
        >>> print(format_numbers([0, 1, 2, 3, 8, 12, 13]))
        0-3, 8, 12, 13
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [part for run in runs for part in ([run] if len(run) > 2 else [[number] for number in run])]
    names = ", ".join("-".join(map(str, dict.fromkeys((part[0], part[-1])))) for part in parts[:most])
    if len(parts) <= most:
        return names
    return Sentence("{names} and {more} more", names=names, more=sum(map(len, parts[most:])))


@check_arguments
def format_bandwidth(rate: float) -> str:
    """Write a rate with three significant digits, in multiples of 1,000 as nccl-tests does.

    Args:
        rate: B/s.

    Returns:
        The text.

    Raises:
        CollsimError: it is no number.

    Examples:
        >>> format_bandwidth(25e9), format_bandwidth(1.5e6)
        ('25 GB/s', '1.5 MB/s')
    """
    return _format_in_units(_require_number(rate, "rate"), (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)), ("B/s", 1))


def _format_in_units(
    number: float, units: Iterable[tuple[str, float]], rest: tuple[str, float], least: float = 0.9995
) -> str:
    """Write a number in the first unit of which there are at least `least`, else in `rest`: (its name, its size)."""
    for unit, factor in units:
        if abs(number) >= factor * least:
            return f"{_format_three_digits(number / factor)} {unit}"
    return f"{_format_three_digits(number * rest[1])} {rest[0]}"


@check_arguments
def size_range(spec: str) -> list[int]:
    """List the sizes of a sweep, as nccl-tests does for its options -b, -e and -f.

    Args:
        spec: `"first:last:factor"`; the factor is 2 where it is left out, and one size alone is a list of one.

    Returns:
        Bytes, rising.

    Raises:
        CollsimError: it is no such text, or makes more than 10,000 sizes.

    Examples:
        >>> size_range("1KiB:16KiB:4")
        [1024, 4096, 16384]
    """
    parts = str(spec).split(":")
    if len(parts) == 1:
        return [parse_bytes(parts[0])]
    if len(parts) > 3:
        raise CollsimError(
            "sizes {spec} must be 'first:last' or 'first:last:factor', for example '1KiB:1GiB:4'",
            spec=format_value(spec),
        )
    first, last = parse_bytes(parts[0]), parse_bytes(parts[1])
    factor = 2.0
    try:
        if len(parts) == 3:
            factor = float(parts[2] if len(parts[2].strip()) <= _MAX_DIGITS else "")
    except ValueError as error:
        raise CollsimError(
            "factor {part} in {spec} is not a number", part=format_value(parts[2]), spec=format_value(spec)
        ) from error
    if not factor > 1 or math.isinf(factor) or first <= 0 or last < first:
        raise CollsimError("sizes {spec} need 0 < first <= last and a finite factor above 1", spec=format_value(spec))
    sizes: list[int] = []
    size = float(first)
    many = math.log(last / first) > 1e6 * math.log(factor)
    while not many and size <= last * (1 + 1e-9):
        if not sizes or round(size) > sizes[-1]:
            sizes.append(round(size))
        size *= factor
        many = len(sizes) > 10_000
    if many:
        raise CollsimError(
            "sizes {spec} make more than 10,000 sizes, or a million steps; use a larger factor", spec=format_value(spec)
        )
    return sizes


def _refuse_value(template: str, what: Words, value: object, **fields: object) -> NoReturn:
    raise CollsimError(template, what=what, value=format_value(value), **fields)


def _split_unit(text: str, what: Words) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        message = "{what}={text} does not start with a number; write for example '64MiB', '25GB/s' or '1.5us'"
        raise CollsimError(message, what=what, text=format_value(text))
    if _TOO_LONG.search(match[1]):
        message = "{what}={text} has more than {most} digits in a row"
        raise CollsimError(message, what=what, text=format_value(text), most=_MAX_DIGITS)
    number = float(match[1].replace(",", "").replace("_", ""))
    if not math.isfinite(number):
        raise CollsimError("{what}={text} is not a finite number", what=what, text=format_value(text))
    return number, match[2]


def _find_byte_factor(unit: str, text: object, what: Words, b_is_bit: bool = False) -> float:
    """Bytes of a unit; `b` is a bit in "Gbps", and else nothing that anybody should write."""
    if unit in ("k", "K", "M", "G", "T", "P"):
        upper = unit.upper()
        example = _split_unit(str(text), what)[0]
        raise CollsimError(
            "{what}={text} is ambiguous: write {example:g}{unit}B ({decimal:,.0f} bytes) or {example:g}{upper}iB "
            "({binary:,.0f} bytes)",
            what=what,
            text=format_value(text),
            example=example,
            unit=unit,
            decimal=example * _DECIMAL[unit],
            upper=upper,
            binary=example * _BINARY[upper + "i"],
        )
    match = _BYTES.fullmatch(unit)
    if match is None or (match[2] == "b" and not b_is_bit):
        hint: Words = ""
        if match:
            hint = Sentence(" (for bits write 'bit')")
        message = "{what}={text}: unknown unit {unit}{hint}; use B, kB, MB, GB, KiB, MiB, GiB, or Gbit/s for a rate"
        raise CollsimError(message, what=what, text=format_value(text), unit=format_value(unit), hint=hint)
    return _PREFIX[match[1]] / (8 if match[2] in ("bit", "bits", "b") else 1)


def _parse_number(value: object, what: Words) -> float:
    if isinstance(value, bool) or not (isinstance(value, Real) or hasattr(value, "__float__")):
        _refuse_value(
            "{what}={value} is a {kind}; give a number or a text with a unit", what, value, kind=type(value).__name__
        )
    try:
        number = float(cast(SupportsFloat, value))
    except OverflowError:
        _refuse_value("{what}={value} is too large a number", what, value)
    except (TypeError, ValueError):
        _refuse_value("{what}={value} is not one number", what, value)
    if not math.isfinite(number):
        _refuse_value("{what}={value} is not a finite number", what, value)
    return number


def _require_number(value: object, what: str) -> float:
    """Check that a value to be written is one number; infinity and NaN are."""
    if isinstance(value, (str, bool)) or not hasattr(value, "__float__"):
        _refuse_value("{what}={value} is a {kind}; give a number", what, value, kind=type(value).__name__)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        _refuse_value("{what}={value} is not one number", what, value)


def _format_three_digits(number: float) -> str:
    if number == 0:
        return "0"
    if not math.isfinite(number):
        return {"inf": "∞", "-inf": "-∞"}.get(f"{number}", "NaN")
    digits = max(0, 2 - math.floor(math.log10(abs(number)) + 1e-12))
    text = f"{number:.{digits}f}"
    if "." in text:
        return text.rstrip("0").rstrip(".")
    return text
