"""All that the Write page shows of a draft: the trial of its code, and the run of what it yields. Nothing here knows
Streamlit."""

from __future__ import annotations

from dataclasses import dataclass

import collsim as cs
from collsim.errors import CollsimError
from collsim.viz.timeline.timeline_document import build_encoded_timeline, build_timeline, encode

from ...jobs.job_spec import has_no_estimate, job
from . import drafts
from .drafts import Draft
from .trial import Trial, try_code


@dataclass(frozen=True, eq=False)
class Verdict:
    """What became of a draft.

    Attributes:
        tried: the trial of its code.
        figures: time (s), bound (s), gap, bytes that the busiest endpoint sends, and those in buffers; None where
            nothing could run.
        timeline: what the player gets; it opens at a mistake by itself.
        cannot: why the steps cannot run on the machine, where that is so.
    """

    tried: Trial
    figures: dict[str, float] | None = None
    timeline: dict[str, object] | None = None
    cannot: CollsimError | None = None


@job(has_no_estimate, in_worker=True)
def judge_draft(draft: Draft) -> Verdict:
    """Try the code, and run what it yields on the place of the draft.

    Args:
        draft: The code and the machine that it is tried on.
    """
    tried = try_code(draft.code, draft.collective, draft.ranks, allow_unsandboxed=draft.allow_unsandboxed)
    if tried.schedule is None or not len(tried.schedule):
        return Verdict(tried)
    try:
        trace = cs.simulate(tried.schedule, drafts.build_topology(draft), draft.nbytes)
    except CollsimError as error:
        return Verdict(tried, cannot=error)
    busiest = int(trace.sent_bytes.max(initial=0))
    figures = {
        "time": trace.time,
        "bound": trace.bound.time,
        "gap": trace.gap,
        "sent": busiest,
        "share": busiest / max(1, trace.nbytes),
    }
    timeline = build_encoded_timeline(trace)
    if draft.is_skeleton:  # what nobody has written yet is no mistake
        timeline = encode({**build_timeline(trace), "mistake": None})
    return Verdict(tried, figures, timeline)
