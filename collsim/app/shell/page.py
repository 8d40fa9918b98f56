"""The registry of pages: `@register_page` adds a function that draws one. The menu, addresses and tests read it.

One file in `collsim/app/pages/`, or one folder there, is all that a new page needs, with its texts in
`collsim/locale/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..scenario.address_parameters import PageAddress, Word
from ..scenario.choice import MOMENT, WORDS, Choice

Draw = Callable[[], None]
_NONE = PageAddress()


@dataclass(frozen=True)
class Page:
    """One page of the app.

    Attributes:
        name: in addresses and, as `page.NAME`, among the texts.
        draw: the function that draws the page.
        order: its place in the menu.
        address: what the page remembers, and how that stands in its address.
        choice: its address holds the run that pages share as well.
        moment: where its player begins: `t`, `view`.
        run: the part of what it remembers that another run comes with; a moment belongs to one run.
        on_machine: what it remembers when it opens on the machine of a choice; None where it takes none along.
        listed: it stands in the menu, and not only behind its address.
        settle: changes the whole address for what it remembers, where a word depends on the others.
    """

    name: str
    draw: Draw
    order: int
    address: PageAddress = _NONE
    choice: bool = False
    moment: tuple[str, ...] = ()
    run: Callable[[Any], Any] = lambda value: value
    on_machine: Callable[[Choice], Any] | None = None
    listed: bool = True
    settle: Callable[[Any, dict[str, str]], dict[str, str]] = lambda value, query: query

    @property
    def takes_machine(self) -> bool:
        """Does a machine that is taken along open here?"""
        return self.choice or self.on_machine is not None

    @property
    def words(self) -> list[Word]:
        """All that may stand in its address, without the options of algorithms and the language."""
        shared = []
        if self.choice:
            shared = [*WORDS.values()]
        return [*shared, *self.address.words, *(word for word in MOMENT if word.name in self.moment)]


_PAGES: dict[str, Page] = {}


def register_page(name: str, order: int, **more: Any) -> Callable[[Draw], Draw]:
    """Put a function that draws a page into the registry; keywords are those of `Page`.

    Args:
        name: Name of the page, as its address has it.
        order: Position in the menu.
        **more: Further keywords of the function that builds the topology.
    """

    def put(draw: Draw) -> Draw:
        """Put the page into the registry.

        Args:
            draw: Draws the page.
        """
        _PAGES[name] = Page(name, draw, order, **more)
        return draw

    return put


def list_pages() -> dict[str, Page]:
    """All pages by name, in the order of the menu."""
    return dict(sorted(_PAGES.items(), key=lambda item: item[1].order))
