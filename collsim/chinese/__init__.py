"""What collsim says of a mistake, in Chinese: the English template of an error is the key (`errors.Sentence`)."""

from __future__ import annotations

CATALOGUE: dict[str, str] = {}
