"""What endpoints are called in a sentence, in every language: ranks, servers, switches that reduce."""

from __future__ import annotations

from ..locale import Text, build_text, list_items
from ..schedule import Schedule


def name_helpers(schedule: Schedule) -> Text:
    """What the endpoints beyond the ranks of a schedule are: servers, or switches that reduce.

    Args:
        schedule: The schedule.
    """
    key = "names.reducing_switch"
    if schedule.helpers_on == "host":
        key = "names.server"
    return build_text("sentences", key)


def name_endpoint(schedule: Schedule, endpoint: int) -> Text:
    """`rank 3`, `the server`, `server 1`.

    Args:
        schedule: The schedule.
        endpoint: An endpoint of the schedule: a rank, or a helper beyond the ranks.
    """
    if endpoint < schedule.ranks:
        return build_text("sentences", "names.rank", number=endpoint)
    helper, number = name_helpers(schedule), endpoint - schedule.ranks
    if schedule.endpoints - schedule.ranks == 1:
        return build_text("sentences", "names.only_helper", helper=helper)
    return build_text("sentences", "names.helper", helper=helper, number=number)


def name_box(schedule: Schedule, endpoint: int) -> Text:
    """`rank 3`, `server`, `server 1`, as a label of a box.

    Args:
        schedule: The schedule.
        endpoint: An endpoint of the schedule.
    """
    if endpoint >= schedule.ranks and schedule.endpoints - schedule.ranks == 1:
        return name_helpers(schedule)
    return name_endpoint(schedule, endpoint)


def name_ranks(schedule: Schedule, endpoints: list[int]) -> Text:
    """`ranks 0, 2 and the server`; `12 ranks` where they are too many to name.

    Args:
        schedule: The schedule.
        endpoints: Endpoints of the schedule.
    """
    if len(endpoints) == 1:
        return build_text("sentences", "names.rank", number=endpoints[0])
    if len(endpoints) > 4:
        return build_text("sentences", "names.many_ranks", count=len(endpoints))
    names = [str(e) if e < schedule.ranks else name_endpoint(schedule, e) for e in endpoints]
    return build_text("sentences", "names.ranks", numbers=list_items(names))
