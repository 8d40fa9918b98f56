"""What tests of the command line share."""

from pathlib import Path

import pytest
from every_command import FILES

import collsim.site
from collsim.site import Site


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    # half a minute; tests/site builds sites
    monkeypatch.setattr(collsim.site, "build_site", lambda out, *_, **__: Site(Path(out), 1, 2, 3))
    return tmp_path
