"""Every file that once broke a reader is read or refused, quickly."""

import time
from pathlib import Path

import pytest
from fuzz_readers import BROKE, SLOW, attempt, kinds, seeds

KEPT = sorted(path.name for path in BROKE.iterdir()) if BROKE.exists() else []


@pytest.mark.parametrize("name", KEPT)
def test_what_once_broke_a_reader_no_longer_does(name):
    kind = max((k for k in kinds() if name.startswith(k + "-")), key=len)
    begin = time.monotonic()
    attempt(kind, BROKE / name)
    assert time.monotonic() - begin < SLOW


@pytest.mark.parametrize("kind", kinds())
def test_every_reader_has_good_files_to_begin_with(kind, tmp_path: Path):
    for i, text in enumerate(seeds(kind)):
        (tmp_path / str(i)).write_text(text)
        attempt(kind, tmp_path / str(i))
    assert seeds(kind)
