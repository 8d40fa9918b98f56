"""The words of a task, whatever it asks."""

from __future__ import annotations

from ....locale import Text, build_text, list_texts


class TaskTexts:
    """The texts of a task in every language: `collsim/locale/<language>/exercises` has them under its name."""

    name: str

    @property
    def title(self) -> Text:
        """A few words."""
        return build_text("exercises", f"{self.name}.title")

    @property
    def ask(self) -> Text:
        """What is to be done."""
        return build_text("exercises", f"{self.name}.ask")

    @property
    def hints(self) -> tuple[Text, ...]:
        """Three hints, each stronger than the one before."""
        return list_texts("exercises", f"{self.name}.hint")
