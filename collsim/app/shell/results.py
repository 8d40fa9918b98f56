"""Results on a page: at once where they take a moment, else with a bar, an estimate and a way to stop.

A page asks for `get_latest(...)` or `get_exact(...)` and draws what it gets. Short work is done on the spot. Longer
work goes to a worker (`collsim.app.jobs`); until it is there the page shows the last result that it had. Another
choice, another page and a closed tab stop it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, cast

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from collsim.errors import CollsimError

from ..jobs.computation import Computation, JobKey, Tab, TooManyJobs, WorkerDied, build_job_key
from ..jobs.engine_warmup import COMPILE_SECONDS, ENGINE
from ..jobs.job_spec import get_job_spec
from ..jobs.worker import compile_engine
from ..jobs.worker_pool import get_worker_pool
from ..scenario.outcome import Refused
from ..server.session_client import get_session_client
from .notes import draw_mistake, explain
from .session import queue_reruns, rerun_page, t

#: Seconds up to which a page computes on the spot.
ON_THE_SPOT = 1.5
#: Seconds for which a page waits for a worker before it draws a bar.
GLANCE = 0.4
#: Seconds between two looks at work under way.
LOOK = 0.4
#: Draws what is known so far.
_Draw = Callable[[Any], None]


@dataclass
class Awaited:
    """What one tab wants from one function.

    Attributes:
        key: The function and its arguments.
        job: The computation while it is under way.
        ended: The error of the computation, where it has no result.
        draw_partial: Draws what there is of the result while the rest is computed; None for nothing.
    """

    key: JobKey
    job: Computation | None = None
    ended: CollsimError | None = None
    draw_partial: _Draw | None = None

    @property
    def over(self) -> bool:
        """The job has come to its end; what a worker compiled must be loaded here besides."""
        job = self.job
        if job is not None and job.function is compile_engine:
            return ENGINE.is_ready.is_set() or (job.over.is_set() and job.result is None)
        return job is None or job.over.is_set()


@dataclass
class Requests:
    """What one tab waits for, and what it had last.

    Attributes:
        tab: The tab.
        page: The page that is open.
        open: What is awaited, by function.
        last: The last result of each function: its arguments, and its pickle.
    """

    tab: Tab
    page: str = ""
    open: dict[str, Awaited] = field(default_factory=dict)
    last: dict[str, tuple[tuple[Any, ...], bytes]] = field(default_factory=dict)


def get_requests() -> Requests:
    """The requests of this tab."""
    if "requests" not in st.session_state:
        context = get_script_run_ctx()
        assert context is not None
        st.session_state["requests"] = Requests(Tab(context.session_id, get_session_client()))
    return cast(Requests, st.session_state["requests"])


def get_latest(
    function: Callable[..., object],
    *arguments: Hashable,
    fallback: tuple[Hashable, ...] | None = None,
    draw_partial: _Draw | None = None,
) -> tuple[Any, tuple[Any, ...]] | None:
    """The result of `function(*arguments)` and its arguments; or the last one before it, under a bar or a sentence that
    says why.

    Args:
        function: One that `jobs.job_spec.job` decorates.
        *arguments: Arguments of the function.
        fallback: arguments of a short run to show where there is no last result. Without them the answer then is None.
        draw_partial: draws under the bar, in place of the last result, what the function reported of its result so far,
            None at first.
    """
    request, result = _find_result(function, arguments, draw_partial)
    name, last = request.key[0], get_requests().last
    if result is not None:
        last[name] = arguments, result
        return pickle.loads(result), arguments
    _draw_state(request, has_kept=name in last or fallback is not None)
    if draw_partial is not None and request.ended is None:
        return None
    if name in last:
        last_arguments, result = last[name]
        return pickle.loads(result), last_arguments
    if fallback is None or request.ended is None:
        return None
    return function(*fallback), fallback


def get_exact(function: Callable[..., object], *arguments: Hashable, draw_partial: _Draw | None = None) -> Any:
    """The result of `function(*arguments)`, in whose place no other one will do: None, under a bar or a sentence, while
    it is not there. Nothing is kept.

    Args:
        function: One that `jobs.job_spec.job` decorates.
        *arguments: Arguments of the function.
        draw_partial: As in `get_latest`.
    """
    request, result = _find_result(function, arguments, draw_partial)
    if result is not None:
        return pickle.loads(result)
    _draw_state(request, has_kept=False)
    return None


def _find_result(
    function: Callable[..., object], arguments: tuple[Hashable, ...], draw_partial: _Draw | None
) -> tuple[Awaited, bytes | None]:
    """What this tab wants from the function, and its result if that is there within a glance."""
    requests, key = get_requests(), build_job_key(function, arguments)
    request = requests.open.get(key[0])
    if request is None or request.key != key:
        cancel_request(key[0])
        request = requests.open[key[0]] = Awaited(key)
    request.draw_partial = draw_partial
    if request.ended is not None:  # a stop wins over what came a moment later
        return request, None
    result = get_worker_pool().cache.get(key)
    if result is None:
        try:
            result = _get_result(request, function, arguments)
        except CollsimError as error:
            request.ended = error
    return request, result


def _draw_state(request: Awaited, has_kept: bool) -> None:
    """Say why there is no result, or how far it is."""
    if request.ended is not None:
        _draw_ended(request, has_kept)
    else:
        _draw_progress(request.key[0])


def cancel_request(name: str) -> None:
    """Stop waiting for a function, and forget how it ended.

    Args:
        name: Name of the page that is left.
    """
    request = get_requests().open.pop(name, None)
    if request is not None and request.job is not None:
        get_worker_pool().leave(get_requests().tab, request.job)


def open_page(page: str) -> None:
    """This page is open now: nobody waits for what another one wanted, nor shows its last results.

    Args:
        page: Name of the page.
    """
    requests = get_requests()
    if requests.page != page:
        requests.page = page
        requests.last.clear()
        for name in list(requests.open):
            cancel_request(name)


def _get_result(request: Awaited, function: Callable[..., object], arguments: tuple[Hashable, ...]) -> bytes | None:
    """The result, if it is there within a glance. Raises CollsimError for what cannot be."""
    spec = get_job_spec(function)
    job = request.job or get_worker_pool().join(get_requests().tab, request.key)
    if job is None:
        seconds = spec.expected(*arguments)
        if spec.compiled(*arguments) and not ENGINE.is_ready.is_set():
            job = get_worker_pool().submit(get_requests().tab, compile_engine, (), COMPILE_SECONDS)
        elif spec.in_worker or spec.exclusive or seconds > ON_THE_SPOT:
            job = _request_result(function, arguments, seconds, spec.exclusive)
        else:
            result = pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
            get_worker_pool().cache.put(request.key, result)
            return result
    if request.job is None:
        request.job = job
        # What would be computed on the spot but for who wrote it gets the time of that, so that no bar flickers.
        job.over.wait(max(GLANCE, ON_THE_SPOT) if spec.in_worker else GLANCE)
    if not request.over:
        return None
    request.job = None
    if ENGINE.is_ready.is_set() and job.function is compile_engine:
        return _get_result(request, function, arguments)
    if isinstance(job.error, WorkerDied):
        raise Refused("work.died")
    if job.error is not None:
        raise job.error
    if job.result is None:  # stopped: nobody seemed to wait any more
        return _get_result(request, function, arguments)
    return job.result


def _request_result(
    function: Callable[..., object], arguments: tuple[Hashable, ...], seconds: float, exclusive: bool
) -> Computation:
    try:
        return get_worker_pool().submit(get_requests().tab, function, arguments, seconds, exclusive)
    except TooManyJobs:
        raise Refused("work.many") from None


def _draw_ended(request: Awaited, has_kept: bool) -> None:
    """Say why there is nothing new, and whether an earlier result stands below; what was stopped can be started
    again."""
    assert request.ended is not None
    draw_mistake(f"{explain(request.ended)} {t('mistake.kept') if has_kept else ''}".strip())
    if isinstance(request.ended, Refused) and request.ended.key in ("work.stopped", "work.died", "work.many"):
        st.button(t("work.again"), key=f"again_{request.key[0]}", on_click=cancel_request, args=(request.key[0],))


@st.fragment(run_every=LOOK)
@queue_reruns
def _draw_progress(name: str) -> None:
    """The bar, what is being done, how long it should take, and the button that stops it."""
    requests = get_requests()
    request = requests.open.get(name)
    if request is None or request.job is None or request.over:
        rerun_page()
        return
    get_worker_pool().refresh(requests.tab, request.job)
    with st.container(border=True, key=f"card_work_{name.replace('.', '_')}"):
        words, button = st.columns([5, 1], vertical_alignment="center", gap="medium")
        words.progress(_share(request.job), text=_describe_job(request.job))
        button.button(t("work.stop"), key=f"stop_{name}", on_click=_stop, args=(request,), width="stretch")
    if request.draw_partial is not None:
        request.draw_partial(request.job.partial)


def _share(job: Computation) -> float:
    """What the work itself says of how far it is; before it says anything, what the estimate says, if there is one;
    never the whole."""
    estimate = 0.0
    if job.expected:
        estimate = 0.95 * min(1.0, job.seconds / job.expected)
    return min(0.98, max(job.share, estimate))


def _describe_job(job: Computation) -> str:
    if job.stage == "queue":
        return t("work.queue", count=max(1, get_worker_pool().count_ahead(job)))
    about, so_far = max(1, round(job.expected)), round(job.seconds)
    if job.stage == "compile" and job.expected:
        return t("work.compile", about=about, so_far=so_far)
    doing = t("work.run" if job.stage == "compile" else f"work.{job.stage}")
    if not job.expected:
        return t("work.unknown", doing=doing, so_far=so_far)
    late = so_far > 1.2 * about
    return t("work.late" if late else "work.about", doing=doing, about=about, so_far=so_far)


def _stop(request: Awaited) -> None:
    """Wait no more; what came to its end in the meantime is shown instead."""
    if (job := request.job) is None or (job.key == request.key and job.over.is_set() and not job.is_stopped):
        return
    get_worker_pool().leave(get_requests().tab, job)
    request.job, request.ended = None, Refused("work.stopped")
