"""Catalogs: what exists, by name, printed as a table."""

import pickle

import pytest

import collsim as cs
from collsim.display import catalog as catalog_module
from collsim.display.catalog import Catalog
from collsim.train import Model

CATALOGS = {
    "algorithms": cs.algorithms,
    "machines": cs.machines,
    "models": cs.models,
    "collectives": cs.collectives,
    "formats": lambda: cs.io.formats(),
    "exercises": lambda: cs.teach.list_exercises(),
}


@pytest.mark.parametrize("make", CATALOGS.values(), ids=CATALOGS)
def test_a_catalog_prints_one_row_for_each_entry(make):
    catalog = make()
    lines = repr(catalog).splitlines()
    assert len(lines) == 1 + len(catalog) > 4
    assert [line.split()[0] for line in lines[1:]] == list(catalog)
    assert catalog._repr_html_().count("<tr>") == 1 + len(catalog)
    assert list(catalog.to_frame()["name"]) == list(catalog)
    assert "functools" not in repr(catalog) + repr(next(iter(catalog.values())))


def test_numbers_of_a_catalog_are_numbers_until_it_is_printed():
    row = next(row for row in cs.models().rows() if row["name"] == "resnet50")
    assert row["parameters"] == 25_557_032  # torchvision's resnet50
    assert "25,557,032" in repr(cs.models())


def test_the_models_are_models():
    assert isinstance(cs.models()["gpt2"], Model)
    assert cs.models()["gpt2"] is cs.model("gpt2")
    assert "gpt-2000" not in cs.models()


@pytest.mark.parametrize(
    ("make", "guess", "name"), [(cs.models, "gpt-2", "gpt2"), (cs.machines, "dgx-h10", "dgx-h100")]
)
def test_a_name_that_a_catalog_lacks_is_answered_with_the_nearest(make, guess, name):
    with pytest.raises(cs.CollsimError, match=f"did you mean '{name}'") as error:
        make()[guess]
    assert isinstance(error.value, KeyError)
    assert make().get(guess) is None


def test_asking_whether_a_name_exists_writes_no_sentence(monkeypatch):
    monkeypatch.delattr(catalog_module, "describe_unknown")
    assert "dgx-h100" in cs.machines()
    assert "ring" not in cs.machines()
    assert ["dgx-h100"] not in cs.machines()


def test_a_catalog_travels_to_another_process():
    assert list(pickle.loads(pickle.dumps(cs.algorithms()))) == list(cs.algorithms())


def test_names_of_others_are_text_in_html():
    catalog = Catalog({"<b>": 1}, lambda value: {"what": "<script>"})
    assert "<script>" not in catalog._repr_html_()
    assert "<b>" not in catalog._repr_html_()
    assert repr(Catalog({}, lambda value: {})) == "(no entries)"
