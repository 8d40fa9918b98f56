"""A pasted training script and what it says. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass

from collsim.errors import CollsimError, Words
from collsim.topology.machines import machines
from collsim.training_scripts import ScriptReading, ScriptStep, predict_step, read_script
from collsim.training_scripts.samples import load_samples

from ...jobs.job_spec import job
from ...scenario.address_parameters import declare_word
from ...scenario.choice import create_name_reader

LONGEST = 200_000  # characters of a script


@dataclass(frozen=True)
class PastedScript:
    """What somebody pasted, or a sample.

    Attributes:
        text: the script; "" for the sample.
        sample: name of a sample.
        machine: the machine that its steps are timed on.
    """

    text: str = ""
    sample: str = declare_word("ddp", create_name_reader("sample", load_samples))
    machine: str = declare_word("dgx-a100", create_name_reader("machine", machines))

    @property
    def source(self) -> str:
        """The text to read."""
        return self.text or load_samples()[self.sample]


@dataclass(frozen=True)
class ScriptAnswer:
    """What the page shows.

    Attributes:
        reading: what the script says of itself.
        steps: a step of each of its parts on the machine; None where that is not known.
        problems: why there is no step of a part on the machine; None where nothing is wrong.
    """

    reading: ScriptReading
    steps: tuple[ScriptStep | None, ...]
    problems: tuple[Words | None, ...]


# A step of ResNet-50 takes half a second; then the text is read.
@job(lambda pasted: 0.5 + len(pasted.source) / 2e5, in_worker=True)
def answer_script(pasted: PastedScript) -> ScriptAnswer:
    """Read a script, and predict its steps.

    Args:
        pasted: what was given.

    Returns:
        The reading with a step for each of its parts.

    Raises:
        CollsimError: there is no script in the text.
    """
    reading = read_script(pasted.source)
    steps: list[ScriptStep | None] = []
    problems: list[Words | None] = []
    for part in reading.parts:
        step, problem = None, None
        if part.trains:
            try:
                step = predict_step(part, pasted.machine)
            except CollsimError as error:  # what the script says of itself stays
                problem = error.sentence
        steps.append(step)
        problems.append(problem)
    return ScriptAnswer(reading, tuple(steps), tuple(problems))
