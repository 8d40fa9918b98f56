"""What the tests of the app share."""

import pytest

from collsim.app.work import ENGINE


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """The event engine is ready from the start, as on a server that has run for a minute."""
    ENGINE.load()
