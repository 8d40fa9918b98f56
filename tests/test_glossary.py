"""One noun, one meaning: the glossary has the words of the public face, and Chinese texts follow it."""

import re
import shlex
from collections import Counter
from functools import reduce
from pathlib import Path

import make_glossary
import pytest
from catalogs import pair_texts
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.locale.glossary import find_entries, list_entries, load_chinese_meanings
from collsim.locale.name_families import find_family
from collsim.package_data import read_csv
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
        "collsim/locale/zh/*.csv",
        "docs/*.py",
        "*.md",
        "mkdocs.yml",
    )
    for path in ROOT.glob(pattern)
    if path != make_glossary.CHINESE_PAGE and CHINESE.search(path.read_text(encoding="utf-8"))
]


def test_the_pages_are_what_the_rows_say():
    assert make_glossary.PAGE.read_text(encoding="utf-8") == make_glossary.write_page()
    assert make_glossary.CHINESE_PAGE.read_text(encoding="utf-8") == make_glossary.write_chinese_page()


def list_names(meaning):
    """Names in a meaning outside of code: abbreviations (NCCL), and words of programs (DataLoader, reduce_scatter)."""
    words = re.findall(r"[A-Za-z][A-Za-z0-9_]*", re.sub(r"`[^`]*`|\]\([^)]*\)", "", meaning))
    names = {re.sub(r"(?<=[A-Z])s$|(?<=NVLink)s$|(?<=NVSwitch)es$", "", word) for word in words}
    return {name for name in names if "_" in name.strip("_") or sum(map(str.isupper, name)) > 1}


def compare_meanings(english, chinese):
    """What one of two meanings has and the other lacks: code and links as often as they are there, numbers, and names
    that the Chinese one lacks; it may add some, such as that of a GPU where the English one has a pronoun."""
    for pattern in (r"`[^`]+`", r"\]\([^)]+\)"):
        ours, theirs = (Counter(re.findall(pattern, meaning)) for meaning in (english, chinese))
        yield from (ours - theirs) + (theirs - ours)
    plain = [re.sub(r"`[^`]*`|\]\([^)]*\)", "", meaning) for meaning in (english, chinese)]
    ours, theirs = (set(re.findall(r"\d+(?:[.,]\d+)*", meaning)) for meaning in plain)
    yield from ours ^ theirs
    yield from list_names(english) - list_names(chinese)


def test_each_row_has_a_chinese_meaning_with_the_same_code_numbers_and_names():
    chinese = load_chinese_meanings()
    english = {row["term"]: row["meaning"] for row in read_csv(str(make_glossary.TABLE), make_glossary.TABLE.name)}
    assert chinese.keys() ^ english.keys() == set()
    words = {term: re.sub(r"`[^`]*`", "", meaning) for term, meaning in chinese.items()}  # some are code alone
    assert {term for term, plain in words.items() if re.search(r"\w", plain) and not CHINESE.search(plain)} == set()
    different = {term: [*compare_meanings(english[term], meaning)] for term, meaning in chinese.items()}
    assert {term: what for term, what in different.items() if what} == {}


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("`cs.zero(1)` 发送 1.5 倍，用 NCCL", ["`cs.zero(3)`", "`cs.zero(1)`"]),
        ("`cs.zero(3)` 发送 2.5 倍，用 NCCL", ["1.5", "2.5"]),
        ("`cs.zero(3)` 发送 1.5 倍，用 RCCL", ["NCCL"]),
        ("`cs.zero(3)` 发送 1.5 倍，用 [NCCL](a.md)", ["](a.md)"]),
    ],
)
def test_a_chinese_meaning_that_says_something_else_is_found(wrong, what):
    english = "`cs.zero(3)` sends 1.5 times as much by NCCL"
    assert list(compare_meanings(english, "`cs.zero(3)` 发送 1.5 倍，用 NCCL")) == []
    assert sorted(compare_meanings(english, wrong)) == sorted(what)


def test_a_word_is_explained_in_chinese_where_that_is_asked_for():
    (entry, *_) = cs.glossary("DistributedSampler")
    assert str(entry) == f"DistributedSampler: {entry.meaning}"
    assert entry.text("zh") == f"DistributedSampler：{entry.chinese_meaning}"
    assert "数据集" in entry.chinese_meaning
    with pytest.raises(cs.CollsimError) as caught:
        cs.machine("DistributedSampler")
    assert entry.meaning in str(caught.value)
    assert entry.chinese_meaning in caught.value.text("zh")
    assert cs.glossary("数据并行")[0].text("zh").startswith("数据并行 · data parallelism：")


def test_what_meanings_name_of_collsim_is_there():
    meanings = "\n".join(entry.meaning for entry in list_entries())
    paths = set(re.findall(r"\bcs((?:\.\w+)+)", meanings))
    assert len(paths) > 50
    for path in sorted(paths):
        reduce(getattr, path[1:].split("."), cs)
    assert {name for name in re.findall(r"`StepTrace\.(\w+)", meanings) if name not in dir(StepTrace)} == set()
    assert set(re.findall(r'cs\.machine\("([^"]+)', meanings)) <= set(cs.machines())


def test_a_command_that_a_meaning_names_can_be_pasted():
    meanings = "\n".join(f"{entry.meaning}\n{entry.chinese_meaning}" for entry in list_entries())
    meanings += (Path(cs.__file__).parent / "locale" / "name_families.toml").read_text(encoding="utf-8")
    commands = set(re.findall(r"`collsim (train [^`]+)`", meanings))
    assert len(commands) >= 3
    for command in sorted(commands):
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, (command, result.output)


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
