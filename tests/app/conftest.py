"""What the tests of the app share."""

import pytest

from collsim.app.classroom import question_card, student_page
from collsim.app.jobs.engine_warmup import ENGINE
from collsim.app.jobs.worker_pool import WorkerPool
from collsim.app.server.clients import LOCAL
from collsim.app.shell import results


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """The event engine is ready from the start, as on a server that has run for a minute."""
    ENGINE.load()


@pytest.fixture
def sit_at(monkeypatch):
    """Called with a client: pages that run from now on belong to it. At first they belong to this computer."""

    def sit_at(client):
        for module in (question_card, student_page):
            monkeypatch.setattr(module, "get_session_client", lambda: client)

    sit_at(LOCAL)
    return sit_at


@pytest.fixture
def slow(monkeypatch):
    """Everything goes to a worker, and none ever takes it up."""
    monkeypatch.setattr(results, "ON_THE_SPOT", -1.0)
    monkeypatch.setattr(results, "GLANCE", 0.0)
    idle = WorkerPool(0)
    monkeypatch.setattr(results, "get_worker_pool", lambda: idle)
    yield idle
    idle.close()
