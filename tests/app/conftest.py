"""What the tests of the app share."""

import pytest

from collsim.app import waiting, work
from collsim.app.work import ENGINE


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """The event engine is ready from the start, as on a server that has run for a minute."""
    ENGINE.load()


@pytest.fixture
def slow(monkeypatch):
    """Everything goes to a worker, and none ever takes it up."""
    monkeypatch.setattr(waiting, "ON_THE_SPOT", -1.0)
    monkeypatch.setattr(waiting, "GLANCE", 0.0)
    idle = work.Workers(0)
    monkeypatch.setattr(waiting, "workers", lambda: idle)
    yield idle
    idle.close()
