"""What collsim says of a mistake, in Chinese: English template -> Chinese template, a file for each room.

The keys are the templates as they stand where an error is raised (`errors.Sentence`); a test holds the two together.
"""

from __future__ import annotations

from . import (
    doors,
    files,
    io,
    lab,
    lessons,
    msccl,
    nccl,
    schedules,
    simulations,
    topologies,
    topology_files,
    train,
    units,
    words,
)

_ROOMS = (
    words,
    units,
    files,
    schedules,
    topologies,
    topology_files,
    simulations,
    nccl,
    io,
    msccl,
    train,
    lab,
)
CATALOGUE: dict[str, str] = {key: said for room in (*_ROOMS, lessons, doors) for key, said in room.SAID.items()}
