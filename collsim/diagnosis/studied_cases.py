"""Studied cases: evidence of slow jobs from public threads, written anew in the forms of the tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ..errors.arguments import check_arguments
from ..locale import translate

_FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class StudiedCase:
    """What somebody had of a job, and where it was discussed.

    Attributes:
        key: of the cause or the question that it ends in; `tree_above_cards` is healthy, and so is `p2p_refused`, whose
            cause is a limit and no fault.
        source: address of the thread. Texts are of our own; measured rates are those of the thread where it has some.
        texts: by the name of the file; `cs.diagnose` takes them.

    Examples:
        >>> import collsim as cs
        >>> case = cs.diagnosis.list_studied_cases()["nvlink_lost"]
        >>> case.title()
        'A V100 with four of its six NVLinks'
        >>> cs.diagnose(case.texts).causes[0].key
        'nvlink_lost'
    """

    key: str
    source: str
    texts: Mapping[str, str]

    def title(self, language: str = "en") -> str:
        """Name it in a line, in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        return translate(language, "diagnosis", f"case.{self.key}.title")

    def story(self, language: str = "en") -> str:
        """Tell what was seen and what it was, in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        return translate(language, "diagnosis", f"case.{self.key}.story")


@check_arguments
@cache
def list_studied_cases() -> Mapping[str, StudiedCase]:
    """Return all studied cases.

    Returns:
        The cases by their keys.

    Examples:
        >>> import collsim as cs
        >>> len(cs.diagnosis.list_studied_cases())
        14
    """
    sources = json.loads((_FOLDER / "sources.json").read_text(encoding="utf-8"))
    return MappingProxyType({key: StudiedCase(key, source, _read_texts(key)) for key, source in sources.items()})


def _read_texts(key: str) -> Mapping[str, str]:
    files = sorted((_FOLDER / key).iterdir())
    return MappingProxyType({file.name: file.read_text(encoding="utf-8") for file in files})
