"""Why is this job slow: the texts that somebody gives, and what they say. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass

import collsim as cs
from collsim.diagnosis import Diagnosis, FleetDiagnosis, compare_nodes, diagnose, list_studied_cases
from collsim.diagnosis.fleet_nodes import has_fleet_names

from ...jobs.job_spec import job
from ...scenario.address_parameters import declare_word
from ...scenario.choice import create_name_reader

#: Texts that a page takes, and characters of each.
MAX_TEXTS, LONGEST = 1_000, 4_000_000
#: Characters of all of them.
MAX_CHARACTERS = 40_000_000
#: The model whose step a page tells first.
USUAL_MODEL = "gpt2-xl"


def _read_model(text: str) -> str:
    """A name of a model, or `none`."""
    if text == "none":
        return ""
    return create_name_reader("model", cs.models)(text)


@dataclass(frozen=True)
class JobTexts:
    """What somebody gave, or a studied case.

    Attributes:
        pieces: names of files with their texts; a pasted one is called `text`.
        case: key of a studied case, where there are no pieces.
        model: whose training step the cost is told for; "" for none.
        left_out: names of pieces that are not judged.
    """

    pieces: tuple[tuple[str, str], ...] = ()
    case: str = declare_word("", create_name_reader("studied case", list_studied_cases))
    model: str = declare_word(USUAL_MODEL, _read_model, write=lambda model: model or "none")
    left_out: tuple[str, ...] = ()

    @property
    def all_texts(self) -> dict[str, str]:
        """The texts by their names, those that are left out among them."""
        if self.case:
            return dict(list_studied_cases()[self.case].texts)
        return dict(self.pieces)

    @property
    def texts(self) -> dict[str, str]:
        """The texts to diagnose by their names."""
        return {name: text for name, text in self.all_texts.items() if name not in self.left_out}


# A prediction for each hypothesis, and the reading of the texts.
@job(lambda evidence: 1.0 + sum(map(len, evidence.texts.values())) / 2e6, in_worker=True)
def diagnose_texts(evidence: JobTexts) -> Diagnosis | FleetDiagnosis:
    """Diagnose the texts; where at least three nodes are named by the files, compare the nodes.

    Args:
        evidence: what was given.

    Raises:
        CollsimError: There is no text.
    """
    texts, model = evidence.texts, evidence.model or None
    if has_fleet_names(list(texts)):
        return compare_nodes(texts, model=model)
    return diagnose(texts, model=model)
