"""What a client has uploaded: only what is stored counts, and what is on its way."""

import random
from types import SimpleNamespace

import pytest
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from collsim.app.server.uploads import MIN_CHARGE, UploadQuota

MIB = 2**20


@pytest.fixture
def stored():
    """Bytes of files as the app stores them."""
    return {}


@pytest.fixture
def quota(stored):
    return UploadQuota(4 * MIB, 10 * MIB, lambda session, file: stored.get((session, file)))


def upload(quota, stored, client, file, nbytes, accepted=True):
    """Whether a request was let through; the app stores the file or refuses it."""
    if not quota.reserve(client, nbytes):
        return False
    if accepted:
        stored["s", file] = nbytes
    quota.settle(client, nbytes, "s", file)
    return True


def test_what_the_app_refuses_is_not_charged(quota, stored):
    assert all(upload(quota, stored, "a", f"f{k}", 3 * MIB, accepted=False) for k in range(50))
    assert upload(quota, stored, "a", "f", 4 * MIB)
    assert not upload(quota, stored, "a", "g", 1)


def test_a_refused_request_for_the_same_file_does_not_hide_what_is_stored(quota, stored):
    assert upload(quota, stored, "a", "f", 3 * MIB)
    assert upload(quota, stored, "a", "f", 10, accepted=False)
    assert not upload(quota, stored, "a", "g", 2 * MIB)


def test_requests_under_way_count_though_nothing_is_stored_yet(quota):
    assert [quota.reserve("a", 2 * MIB) for _ in range(3)] == [True, True, False]
    quota.settle("a", 2 * MIB, "s", "f")
    assert quota.reserve("a", 2 * MIB)


def test_all_clients_together_have_a_limit(quota, stored):
    assert all(upload(quota, stored, client, client, 4 * MIB) for client in "ab")
    assert not upload(quota, stored, "c", "c", 3 * MIB)
    assert upload(quota, stored, "c", "c", 2 * MIB)


def test_a_file_that_is_removed_counts_no_longer(quota, stored):
    assert upload(quota, stored, "a", "f", 4 * MIB)
    del stored["s", "f"]
    assert upload(quota, stored, "a", "g", 4 * MIB)


def test_empty_files_count_too(quota, stored):
    count = 4 * MIB // MIN_CHARGE
    assert all(upload(quota, stored, "a", f"f{k}", 0) for k in range(count))
    assert not upload(quota, stored, "a", "f", 0)


def test_whatever_requests_do_no_client_stores_more_than_it_may():
    rng, stored, under_way = random.Random(1), {}, []
    quota = UploadQuota(4 * MIB, 10 * MIB, lambda session, file: stored.get((session, file)))
    for _ in range(3_000):
        client, file = rng.choice("abcd"), f"f{rng.randrange(6)}"
        if under_way and rng.random() < 0.5:
            client, nbytes, file = under_way.pop(rng.randrange(len(under_way)))
            if rng.random() < 0.5:
                stored[client, file] = nbytes
            quota.settle(client, nbytes, client, file)
        elif rng.random() < 0.2:
            stored.pop((client, file), None)
        elif quota.reserve(client, nbytes := rng.randrange(3 * MIB)):
            under_way.append((client, nbytes, file))
        sizes = {name: sum(n for (owner, _), n in stored.items() if owner == name) for name in "abcd"}
        assert max(sizes.values()) <= 4 * MIB
        assert sum(sizes.values()) <= 10 * MIB


@pytest.mark.parametrize("is_open", [True, False])
def test_a_file_that_arrives_after_its_page_has_gone_is_removed(monkeypatch, is_open):
    """Streamlit stores it until the server ends."""
    manager = MemoryUploadedFileManager("/upload")
    server = SimpleNamespace(uploaded_file_mgr=manager, is_active_session=lambda session: is_open)
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: server)
    quota = UploadQuota(MIB, MIB)
    assert quota.reserve("a", 900_000)
    manager.add_file("session", UploadedFileRec("f", "name", "text/plain", b"x" * 900_000))
    quota.settle("a", 900_000, "session", "f")
    assert len(manager.get_files("session", ["f"])) == is_open
    assert quota.reserve("a", 900_000) != is_open
