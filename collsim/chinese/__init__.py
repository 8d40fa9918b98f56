"""What collsim says of a mistake, in Chinese: English template -> Chinese template, a file for each package.

The keys are the templates as they stand where an error is raised (`errors.Sentence`); a test holds the two together.
"""

from __future__ import annotations

from . import (
    files,
    interfaces,
    io,
    lab,
    lessons,
    msccl,
    nccl,
    programs,
    schedules,
    simulations,
    topologies,
    topology_files,
    train,
    units,
    words,
)

_PACKAGES = (
    words,
    units,
    files,
    schedules,
    topologies,
    topology_files,
    simulations,
    nccl,
    programs,
    io,
    msccl,
    train,
    lab,
)
CATALOGUE: dict[str, str] = {
    template: chinese
    for module in (*_PACKAGES, lessons, interfaces)
    for template, chinese in module.TRANSLATIONS.items()
}
