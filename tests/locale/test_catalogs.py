"""The catalogs: the same texts in every language, each of them used, and hardly any Chinese outside of them."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

import collsim
from collsim.lessons.chapters import SECTIONS
from collsim.locale import LANGUAGES, _fill_placeholders, list_placeholders
from collsim.registry import algorithms
from collsim.teach import list_exercises, settings
from collsim.teach.exercises.tasks import PROGRAMS

PACKAGE = Path(collsim.__file__).parent
FOLDER = PACKAGE / "locale"
#: Those whose keys are named where a text is wanted; the app, the site and diagnosis have tests of their own.
BY_KEY = ("exercises", "lab", "nccl", "pictures", "quiz", "race", "sentences", "teach", "timeline", "train", "words")
#: Where Chinese says a number that English does without, or English a figure more.
OTHER_FACTS = {
    "difference.predict_longer",
    "difference.simulate_longer",
    "exercise.bottleneck",
    "moments.more",
    "moments.sum_complete_added_once",
    "moments.then_some_would_count",
    "narration.which",
}
#: What a language calls itself.
OWN_NAMES = {"language.label", "other"}
#: Lines with Chinese letters in Python; the number may only fall.
MAX_CHINESE_LINES = 41


def list_packages():
    """Folders of catalogs; those of errors have English sentences as keys."""
    return sorted({path.parent.name for path in (FOLDER / "en").glob("*/*.json")})


def read_catalogs(language, package):
    files = sorted((FOLDER / language / package).glob("*.json"))
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


@pytest.mark.parametrize("package", list_packages())
def test_every_language_has_the_same_texts_with_the_same_values(package):
    english = read_catalogs("en", package)
    assert english
    for language in LANGUAGES:
        translated = read_catalogs(language, package)
        assert {name: set(texts) for name, texts in translated.items()} == {n: set(t) for n, t in english.items()}
        for name, texts in english.items():
            differing = [
                key
                for key, text in texts.items()
                if key not in OTHER_FACTS and list_placeholders(text) != list_placeholders(translated[name][key])
            ]
            assert not differing, (language, differing)


def test_english_holds_no_chinese():
    texts = [
        text for package in list_packages() for file in read_catalogs("en", package).values() for text in file.items()
    ]
    assert [key for key, text in texts if re.search("[\u4e00-\u9fff]", text) and key not in OWN_NAMES] == []


@cache
def read_strings():
    """All string constants of the package, and a pattern for each text with fields, which are its groups."""
    constants, patterns = set(), set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                constants.add(node.value)
            elif isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.Constant) for part in node.values):
                parts = [re.escape(p.value) if isinstance(p, ast.Constant) else r"([\w.]+)" for p in node.values]
                patterns.add("".join(parts))
    return constants, [re.compile(pattern) for pattern in patterns if re.search(r"[a-z]{3}", pattern)]


def is_written(text, depth=3):
    """Whether the package has a text, or a text with fields that becomes it when texts of the package are filled in."""
    constants, patterns = read_strings()
    if text in constants:
        return True
    if depth == 0:
        return False
    endings = [c for c in constants if c.startswith("_") and text.endswith(c) and len(c) < len(text)]
    if any(is_written(text.removesuffix(ending), depth - 1) for ending in endings):
        return True
    matches = [match for pattern in patterns if (match := pattern.fullmatch(text))]
    return any(all(is_written(part, depth - 1) for part in match.groups()) for match in matches)


def list_keys_of_objects():
    """The keys that lessons, exercises and algorithms make of their names."""
    tasks = [*list_exercises(), *settings(), *PROGRAMS]
    parts = ("title", "ask", "hint.1", "hint.2", "hint.3")
    yield from (f"{name}.{part}" for name in tasks for part in parts)
    yield from (f"{name}.{part}" for name in algorithms() for part in ("summary", "when", "formula"))
    for name, (lesson, section) in SECTIONS.items():
        yield f"{lesson.sections[0].key}.lesson"
        yield from (f"{name}.{part}" for part in ("ask", "explanation", *(["title"] if section.title else [])))
        counts = {
            "before": section.before,
            "after": section.after,
            "choice": section.choices,
            "reason": section.choices,
        }
        yield from (f"{name}.{part}.{k + 1}" for part, texts in counts.items() for k in range(len(texts)))
        for row, cells in enumerate(section.table):
            yield from (f"{name}.table.{row + 1}.{column + 1}" for column in range(len(cells)))


@pytest.mark.parametrize("package", [*BY_KEY, "lessons", "algorithms"])
def test_every_text_is_used(package):
    known = set(list_keys_of_objects())
    keys = [key for texts in read_catalogs("en", package).values() for key in texts]
    assert [key for key in keys if key not in known and not is_written(key)] == []


def test_hardly_any_chinese_is_left_in_python():
    lines = [
        f"{path}:{number}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search("[\u4e00-\u9fff]", line)
    ]
    assert len(lines) <= MAX_CHINESE_LINES, "new texts belong into collsim/locale"


#: Nouns that texts count.
NOUNS = """
GPUs algorithms answers bits buckets buffers cables calls cards channels chunks collectives
contributions copies cores days devices edits elements errors experts files groups hops hours jobs
kernels layers lines links machines measurements messages microbatches minutes neighbours networks
nodes operations parameters pieces places points processes processors programs questions ranks
replicas rings rounds rows runs samples seconds seeds sizes stages steps students switches tokens
transfers trees votes warnings workers
"""
PLURALS = re.compile(rf"(?<![\d.,–+-])(?<![-−] )\b1 ({'|'.join(NOUNS.split())})\b(?!/s)")


def fill_with_ones(text):
    """A template in which everything is 1, as of one rank, one step and one chunk."""
    values = dict.fromkeys(list_placeholders(text), 1)
    return _fill_placeholders(text, values, 0)


@pytest.mark.parametrize("package", [package for package in list_packages() if package != "lessons"])
def test_one_of_a_thing_is_in_the_singular(package):
    wrong = {
        key: match[0]
        for texts in read_catalogs("en", package).values()
        for key, text in texts.items()
        if isinstance(text, str) and (match := PLURALS.search(fill_with_ones(text)))
    }
    assert wrong == {}


def test_the_search_for_plurals_finds_them():
    assert PLURALS.search(fill_with_ones("over {n} ranks"))
    assert not PLURALS.search(fill_with_ones("over {n} {n:rank|ranks}, {x} times as long, 2.1 GB"))
