"""Bytes, seconds, bytes per second: the one place that knows the factors.

Inside collsim every quantity is a plain number in bytes, seconds or bytes per second. At every door a person may write
`"64MiB"`, `"25GB/s"`, `"400Gbit/s"`, `"1.5us"`. `GB` is 10^9 bytes, `GiB` is 2^30 (IEC 80000-13), `Gbit` is 10^9 bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import CollsimError, Sentence, Words, format_value

#: A number of bytes, or text with a unit of bytes: `65536`, `"64KiB"`, `"1GB"`.
ByteSize: TypeAlias = int | np.integer[Any] | str
#: A number of seconds, or text with a unit of time: `1.5e-6`, `"1.5us"`.
Duration: TypeAlias = float | str
#: A number of bytes per second, or text with a unit of them: `25e9`, `"25GB/s"`, `"400Gbit/s"`.
Bandwidth: TypeAlias = float | str
#: The type of an element: a name of `dtypes()`, or numpy's own type.
DataType: TypeAlias = str | np.dtype[Any] | type
#: Numbers of ranks, counted from 0.
RankSelection: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_PREFIX = {**_DECIMAL, **_BINARY}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")
_MOST_COUNT = 2**62  # of anything: arrays are numbered with 64 bits
#: Bytes, 1 EiB: no size is more.
MOST_BYTES = 2**60
#: s: no time is longer; sums of such stay numbers.
_LONGEST = 1e18
#: Digits before or after the point of a number in a text.
_MOST_DIGITS = 30
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


def parse_bytes(value: object, what: Words = "nbytes") -> int:
    """Bytes from `"64MiB"`, `"1GB"` or a whole number. Raises CollsimError for a bare `"64M"`, negatives and
    fractions."""
    size: float
    if isinstance(value, str):
        number, unit = _split(value, what)
        size = number * _byte_factor(unit, value, what) if unit else number
        size = int(value) if _WHOLE.fullmatch(value) else size  # above 2^53 a float would round it
    elif isinstance(value, Integral) and not isinstance(value, bool):
        size = int(value)
    else:
        size = _plain(value, what)
    if size < 0:
        raise CollsimError(
            "{what}={value} is negative; a size is 0 bytes or more", what=what, value=format_value(value)
        )
    if size > MOST_BYTES:
        raise CollsimError(
            "{what}={value} is more than 1 EiB; is the unit right?", what=what, value=format_value(value)
        )
    if abs(size - round(size)) > 1e-6 * max(1.0, size * 1e-9):
        why = "{what}={value} is {size:g} bytes; a size is a whole number of bytes"
        raise CollsimError(why, what=what, value=format_value(value), size=size)
    return round(size)


def parse_bandwidth(value: object, what: Words = "bandwidth") -> float:
    """Bytes per second from `"25GB/s"`, `"400Gbit/s"` (or `Gbps`), or a plain number of B/s. Raises CollsimError unless
    > 0."""
    if isinstance(value, str):
        number, unit = _split(value, what)
        rate = re.fullmatch(r"(.+?)(/s|ps)", unit)
        if unit == "":
            result = number
        elif rate is None:
            why = "{what}={value} has no time in its unit; write for example '25GB/s' or '400Gbit/s'"
            raise CollsimError(why, what=what, value=format_value(value))
        else:
            result = number * _byte_factor(rate[1], value, what, bits="b" if rate[2] == "ps" else "")
    else:
        result = _plain(value, what)
    if not result > 0:
        raise CollsimError("{what}={value} must be more than 0 bytes per second", what=what, value=format_value(value))
    return float(result)


def parse_time(value: object, what: Words = "alpha") -> float:
    """Seconds from `"1.5us"`, `"2 ms"` or a plain number of seconds. Raises CollsimError for negatives, unknown units,
    and more than 1e18 s: sums of such stay numbers."""
    if isinstance(value, str):
        number, unit = _split(value, what)
        if unit and unit not in _SECONDS:
            why = "{what}={value}: unknown unit of time {unit}; use s, ms, us or ns"
            raise CollsimError(why, what=what, value=format_value(value), unit=format_value(unit))
        result = number * (_SECONDS[unit] if unit else 1.0)
    else:
        result = _plain(value, what)
    if result < 0:
        raise CollsimError("{what}={value} is negative; a time is 0 s or more", what=what, value=format_value(value))
    if result > _LONGEST:
        raise CollsimError(
            "{what}={value} is too long; a time is at most {most:g} s",
            what=what,
            value=format_value(value),
            most=_LONGEST,
        )
    return float(result)


def parse_count(value: object, what: Words, least: int = 1) -> int:
    """A whole number of at least `least`. Raises CollsimError with the value otherwise."""
    try:
        number = int(value) if isinstance(value, str) else _plain(value, what)
    except CollsimError:
        raise
    except ValueError as error:
        raise CollsimError("{what}={value} is not a whole number", what=what, value=format_value(value)) from error
    if number != int(number):
        raise CollsimError("{what}={value} is not a whole number", what=what, value=format_value(value))
    if number < least:
        raise CollsimError(
            "{what}={value} is too small; {what} is at least {least}", what=what, value=format_value(value), least=least
        )
    if number > _MOST_COUNT:
        raise CollsimError(
            "{what}={value} is too large; {what} is at most {most:,}",
            what=what,
            value=format_value(value),
            most=_MOST_COUNT,
        )
    return int(number)


def format_bytes(nbytes: float) -> str:
    """Binary multiples with three significant digits: `16 MiB`, `1.5 KiB`, `8 B`."""
    units = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
    return _in_units(_number(nbytes, "nbytes"), units, ("B", 1), least=1.0)


def format_time(seconds: float) -> str:
    """Three significant digits in s, ms, µs or ns."""
    return _in_units(_number(seconds, "seconds"), (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)), ("ns", 1e9))


def format_bandwidth(rate: float) -> str:
    """Three significant digits in decimal GB/s (MB/s and kB/s when small), as nccl-tests counts."""
    return _in_units(_number(rate, "rate"), (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)), ("B/s", 1))


def _in_units(number: float, units: Iterable[tuple[str, float]], rest: tuple[str, float], least: float = 0.9995) -> str:
    """In the first unit of which there is at least `least`, else in `rest`: a unit, and how many of it make one."""
    for unit, factor in units:
        if abs(number) >= factor * least:
            return f"{_three(number / factor)} {unit}"
    return f"{_three(number * rest[1])} {rest[0]}"


def size_range(spec: str) -> list[int]:
    """Sizes of `"1KiB:1GiB:4"` (first, last, factor; the factor is 2 when left out) or one size. As nccl-tests' -b -e
    -f."""
    parts = str(spec).split(":")
    if len(parts) == 1:
        return [parse_bytes(parts[0])]
    if len(parts) > 3:
        raise CollsimError(
            "sizes {spec} must be 'first:last' or 'first:last:factor', for example '1KiB:1GiB:4'",
            spec=format_value(spec),
        )
    first, last = parse_bytes(parts[0]), parse_bytes(parts[1])
    try:
        factor = float(parts[2] if len(parts[2].strip()) <= _MOST_DIGITS else "") if len(parts) == 3 else 2.0
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


def _split(text: str, what: Words) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        why = "{what}={text} does not start with a number; write for example '64MiB', '25GB/s' or '1.5us'"
        raise CollsimError(why, what=what, text=format_value(text))
    if _TOO_LONG.search(match[1]):
        why = "{what}={text} has more than {most} digits in a row"
        raise CollsimError(why, what=what, text=format_value(text), most=_MOST_DIGITS)
    number = float(match[1].replace(",", "").replace("_", ""))
    if not math.isfinite(number):
        raise CollsimError("{what}={text} is not a finite number", what=what, text=format_value(text))
    return number, match[2]


def _byte_factor(unit: str, text: object, what: Words, bits: str = "") -> float:
    if unit in ("k", "K", "M", "G", "T", "P"):
        upper = unit.upper()
        example = _split(str(text), what)[0]
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
    if match is None or (match[2] == "b" and not bits):
        hint = Sentence(" (for bits write 'bit')") if match else ""
        why = "{what}={text}: unknown unit {unit}{hint}; use B, kB, MB, GB, KiB, MiB, GiB, or Gbit/s for a rate"
        raise CollsimError(why, what=what, text=format_value(text), unit=format_value(unit), hint=hint)
    return _PREFIX[match[1]] / (8 if match[2] in ("bit", "bits", "b") else 1)


def _plain(value: object, what: Words) -> float:
    if isinstance(value, bool) or not (isinstance(value, Real) or hasattr(value, "__float__")):
        why = "{what}={value} is a {kind}; give a number or a text with a unit"
        raise CollsimError(why, what=what, value=format_value(value), kind=type(value).__name__)
    assert isinstance(value, SupportsFloat)
    try:
        number = float(value)
    except OverflowError as error:
        raise CollsimError("{what}={value} is too large a number", what=what, value=format_value(value)) from error
    except (TypeError, ValueError) as error:
        raise CollsimError("{what}={value} is not one number", what=what, value=format_value(value)) from error
    if not math.isfinite(number):
        raise CollsimError("{what}={value} is not a finite number", what=what, value=format_value(value))
    return number


def _number(value: object, what: str) -> float:
    """What is to be shown: any one number, infinity and NaN too."""
    if isinstance(value, (str, bool)) or not hasattr(value, "__float__"):
        raise CollsimError(
            "{what}={value} is a {kind}; give a number", what=what, value=format_value(value), kind=type(value).__name__
        )
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise CollsimError("{what}={value} is not one number", what=what, value=format_value(value)) from error


def _three(number: float) -> str:
    if number == 0:
        return "0"
    if not math.isfinite(number):
        return {"inf": "∞", "-inf": "-∞"}.get(f"{number}", "NaN")
    digits = max(0, 2 - math.floor(math.log10(abs(number)) + 1e-12))
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
