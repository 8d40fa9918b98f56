"""Prices of parts, as a person gives them: by part or by change, for the whole machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ..errors import CollsimError, describe_unknown
from .part_changes import PART_NAMES, PartChange

#: Savings are shown for so much money, as a single unit of most currencies saves next to nothing.
_THOUSAND = 1000.0


def parse_prices(prices: object) -> dict[str, float]:
    """Check prices by part (`"nic"`) or change (`"nic=roce-100"`).

    Args:
        prices: the prices; None for none.

    Returns:
        The prices as numbers.

    Raises:
        CollsimError: For an unknown part, and a price that is not above 0.

    Examples:
        >>> from collsim.purchases.part_prices import parse_prices
        >>> parse_prices({"nic": 2400})
        {'nic': 2400}
    """
    if prices is None:
        return {}
    if not isinstance(prices, Mapping):
        message = "prices={prices!r} must be a mapping of parts to money, for example {{'nic': 2400}}"
        raise CollsimError(message, prices=prices)
    for name, price in prices.items():
        if str(name).partition("=")[0] not in PART_NAMES:
            raise CollsimError(describe_unknown("part", name, PART_NAMES))
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 < price < math.inf:
            message = "prices={{{name!r}: {price!r}}}: a price is a number above 0, of the whole machine"
            raise CollsimError(message, name=name, price=price)
    return {str(name): price for name, price in prices.items()}


def parse_price_texts(texts: Iterable[str]) -> dict[str, float]:
    """Read prices as a person types them: `nic=2400`, `nic=roce-100=2400`.

    Args:
        texts: a price each.

    Returns:
        The prices by part or change.

    Raises:
        CollsimError: For a text without a number, an unknown part, and a price that is not above 0.

    Examples:
        >>> from collsim.purchases.part_prices import parse_price_texts
        >>> parse_price_texts(["nic=roce-100=2400"])
        {'nic=roce-100': 2400.0}
    """
    prices: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            prices[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise CollsimError("{word!r} is not part=price, for example nic=2400", word=text)
    return parse_prices(prices)


def sum_prices(changes: Iterable[PartChange], prices: Mapping[str, float]) -> float | None:
    """Add up what changes cost.

    Args:
        changes: of the machine.
        prices: of `parse_prices`; that of a change counts before that of its part.

    Returns:
        Money, 0 for settings; None without the price of every part, because half a price would make them look cheap.
    """
    total = 0.0
    for change in changes:
        price = prices.get(str(change), prices.get(change.part))
        if price is None and not change.is_free:
            return None
        total += price or 0.0
    return total


def divide_by_price(saved: float, price: float | None) -> float | None:
    """Seconds saved for 1,000 units of money; None without a price.

    Args:
        saved: s.
        price: money; None or 0 where nothing is bought.
    """
    if not price:
        return None
    return _THOUSAND * saved / price
