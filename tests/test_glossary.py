"""One noun, one meaning: the glossary has the words of the public face, and Chinese texts follow it."""

import re
from functools import reduce
from pathlib import Path

import make_glossary
import pytest
from catalogs import pair_texts

import collsim as cs
from collsim.locale.glossary import find_entries, list_entries
from collsim.locale.name_families import find_family
from collsim.train.step_trace import StepTrace

LABELS = pair_texts()

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| term")
]
TERMS = {name.strip().lower() for row in ROWS for name in row[0].split(",")}
CHINESE = re.compile(r"[\u4e00-\u9fff]")
TEXTS = [
    path
    for pattern in (
        "collsim/**/*.py",
        "collsim/**/*.js",
        "notebooks/zh/*.ipynb",
        "docs/**/*.zh.md",
        "docs/*.py",
        "*.md",
        "mkdocs.yml",
    )
    for path in ROOT.glob(pattern)
    if CHINESE.search(path.read_text(encoding="utf-8"))
]


def test_the_page_is_what_the_rows_say():
    assert make_glossary.PAGE.read_text(encoding="utf-8") == make_glossary.write_page()


def test_what_meanings_name_of_collsim_is_there():
    meanings = "\n".join(entry.meaning for entry in list_entries())
    paths = set(re.findall(r"\bcs((?:\.\w+)+)", meanings))
    assert len(paths) > 50
    for path in sorted(paths):
        reduce(getattr, path[1:].split("."), cs)
    assert {name for name in re.findall(r"`StepTrace\.(\w+)", meanings) if name not in dir(StepTrace)} == set()
    assert set(re.findall(r'cs\.machine\("([^"]+)', meanings)) <= set(cs.machines())


@pytest.mark.parametrize("formula", ["2K(N-1)/N", "2×K×N-1/N", "2 * (n-1) / n", "2(p-1)/p"])
def test_the_bytes_of_a_ring_are_found_as_each_article_writes_them(formula):
    assert "sent_bytes" in find_entries(formula)[0].meaning


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("All-Reduce", "allreduce"),
        ("torch.distributed.all_reduce", "allreduce"),
        ("ncclAllReduce", "allreduce"),
        ("全规约", "allreduce"),
        ("parameter servers", "parameter server"),
        ("DistributedSampler", "DistributedSampler"),
        ("nn.parallel.DistributedDataParallel", "DDP, DistributedDataParallel"),
        (
            "--nproc_per_node",
            "nproc_per_node, nnodes, node_rank, rdzv_endpoint, rdzv_id, max_restarts, standalone, torchelastic",
        ),
    ],
)
def test_a_word_is_found_in_the_spelling_of_an_article(word, term):
    assert find_entries(word)[0].term == term


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("NCCL_IB_ECE_ENABLE", ["NCCL_IB_*, NCCL_IBEXT_*"]),
        ("MPI_Iallreduce_c", ["MPI_I*, MPI_*_init, MPI_*_c", "allreduce"]),
        ("PMPI_Win_lock_all()", ["MPI_Win_*, MPI_Put, MPI_Get"]),
        ("DefaultSavePlanner", ["torch.distributed.checkpoint.*"]),
        ("torch.distributed.checkpoint.staging.StagingOptions", ["torch.distributed.checkpoint.*"]),
    ],
)
def test_a_name_without_a_row_is_told_by_its_form(name, forms):
    assert [entry.term for entry in find_entries(name)] == forms


ORDINARY = (
    "train_loader my_function model.loss gpt2 resnet50 k8 x86 a1 v2 b2 80GB 4 3D data.to param_groups custom rdma file"
)


@pytest.mark.parametrize("word", ORDINARY.split())
def test_an_ordinary_word_is_of_no_family(word):
    assert find_family(word) is None


@pytest.mark.parametrize("word", ["", " ", "quux", "()", "。", "x" * 100_000])
def test_what_is_no_word_of_the_field_has_no_row(word):
    assert find_entries(word) == []


def refused_words():
    """Chinese words that are not used, from the last column; a word with a remark behind it has a use of its own."""
    return {word.strip() for row in ROWS for word in row[3].split(",") if CHINESE.search(word) and "(" not in word}


def test_every_term_is_there_once_with_its_chinese_word_and_its_meaning():
    names = [row[0] for row in ROWS]
    assert len(ROWS) > 40
    assert len(set(names)) == len(names)
    assert all(len(row) == 4 and row[1] and row[2] for row in ROWS), [r for r in ROWS if len(r) != 4]


def test_the_nouns_of_the_public_face_are_in_the_glossary():
    nouns = {n.lower() for n in cs.__all__ if n[0].isupper() and not n.endswith("Error")}
    assert nouns - {"flows", "together"} <= TERMS, nouns - TERMS
    assert set(cs.collectives()) <= TERMS, set(cs.collectives()) - TERMS


def test_each_noun_of_the_design_is_in_the_glossary():
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = page.split("## 3. Nouns")[1].split("## 4.")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    nouns = {noun.strip().lower() for cell in cells for noun in cell.split(",")} - {"word"}
    assert nouns <= TERMS, nouns - TERMS


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_chinese_texts_use_the_words_of_the_glossary(path):
    text = path.read_text(encoding="utf-8")
    assert not [word for word in refused_words() if word in text]


def chinese_words():
    """Of each term the words that stand for it, a synonym in brackets too."""
    found = {}
    for names, words, *_ in ROWS:
        for name in names.split(","):
            found.setdefault(name.strip().lower(), set()).update(filter(None, re.split("[、（）]", words)))
    return found


def test_a_label_of_the_app_that_is_a_term_of_the_glossary_has_its_chinese_word():
    words, asked, wrong = chinese_words(), 0, {}
    for key, (english, chinese) in LABELS.items():
        term = english.strip().lower()
        for name in {term, term.removesuffix("s")} & set(words):
            asked += 1
            if name not in chinese.lower() and not any(word in chinese for word in words[name]):
                wrong[key] = chinese
    assert asked > 30
    assert wrong == {}
