"""Numbers and short lists as they are read in a sentence, in English and Chinese.

Three significant digits; the nouns are those of the field in both languages.
"""

from __future__ import annotations

import re

from ...locale import Text, build_text, has_text, repeat_text
from ...units import format_bandwidth, format_bytes, format_time

format_size = format_bytes
format_rate = format_bandwidth
format_duration = format_time


def format_decimal_bytes(nbytes: float) -> str:
    """`13.5 GB`: decimal, as vendors count a GPU's memory.

    Args:
        nbytes: A number of bytes.
    """
    units = (1e12, "TB"), (1e9, "GB"), (1e6, "MB")
    # 999.5 MB would be written as 1e+03 MB, so a unit begins where its three digits do.
    factor, unit = next((pair for pair in units if nbytes >= 0.9995 * pair[0]), (1e3, "kB"))
    return f"{float(f'{nbytes / factor:.3g}'):g} {unit}"


def name_kind(kind: str) -> Text:
    """What a kind of link is called.

    Args:
        kind: Kind of device or link, as topologies name it.
    """
    if has_text("sentences", f"words.kind.{kind}"):
        return build_text("sentences", f"words.kind.{kind}")
    return repeat_text(kind)


def name_all_of_kind(kind: str) -> Text:
    """All links of a kind: `all PCIe`, `all links between the sockets`.

    Args:
        kind: Kind of device or link, as topologies name it.
    """
    if has_text("sentences", f"words.all_of_kind.{kind}"):
        return build_text("sentences", f"words.all_of_kind.{kind}")
    return tidy_text(build_text("sentences", "words.all_of_kind", kind=name_kind(kind)))


def format_range(low: str, high: str) -> Text:
    """`57 to 674 µs`: the unit once where it is the same.

    Args:
        low: The lower quantity with its unit.
        high: The higher quantity with its unit.
    """
    number, _, unit = low.partition(" ")
    if unit == high.partition(" ")[2]:
        low = number
    return build_text("sentences", "words.range", low=low, high=high)


def capitalise(text: str) -> str:
    """Begin a text with a capital letter; names that are written without one (xGMI) stay.

    Args:
        text: The text.
    """
    if text[1:2].isupper():
        return text
    return text[:1].upper() + text[1:]


def tidy_spaces(zh: str) -> str:
    """Put one space between Chinese and Latin text, none beside Chinese punctuation.

    Args:
        zh: Chinese text.
    """
    zh = re.sub(r"([一-鿿]) +(?=[一-鿿])", r"\1", zh)
    zh = re.sub(r"([一-鿿])([A-Za-z0-9])", r"\1 \2", zh)
    zh = re.sub(r"([A-Za-z0-9])([一-鿿])", r"\1 \2", zh)
    zh = re.sub(r" *([，。；：、（）]) *", r"\1", zh)
    return re.sub(r"  +", " ", zh)


def tidy_text(text: Text) -> Text:
    """Tidy the spaces of every language of a text, as `tidy_spaces` does.

    Args:
        text: Composed of parts; what holds no Chinese stays as it is.
    """
    return tuple(map(tidy_spaces, text))
