"""What is said of a mistake: a template with values, in English and in Chinese."""

import ast
import copy
import pickle
from functools import cache
from pathlib import Path
from string import Formatter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.errors import (
    CollsimError,
    FormatError,
    ScheduleError,
    Sentence,
    describe_unknown,
    format_value,
    join_words,
)
from collsim.locale import load_messages
from collsim.locale.synonyms import load_absent_names
from collsim.registry import _REGISTRY
from collsim.sandbox.attempt import Translated
from collsim.sandbox.isolation import NoIsolation

CATALOGUE = load_messages("zh", "errors")

ROOT = Path(__file__).parent.parent / "collsim"

# ---- the templates in the source
# --------------------------------------------------------------------------------------------------------------------

#: Functions whose arguments are templates, or sentences: positions of these.
SPEAKERS = {
    "CollsimError": (0,),
    "ScheduleError": (0,),
    "TopologyError": (0,),
    "FormatError": (0,),
    "UnverifiedError": (0,),
    "Sentence": (0,),
    "Sentence.from_words": (0,),
    "error": (0,),  # the class that `limits.require` was given
    "build_error": (0,),
    "refuse": (1, 2),
    "_refuse": (4,),
    "_refuse_value": (0,),
    "declare_menu": (1,),
    "describe_unknown": (0,),
    "create_name_reader": (0,),
    "create_list_reader": (0,),
    "_create_name_word": (0,),
    "require_word": (0,),
    "join_words": (1,),
    "require_extent": (0, 2),
    "_require_small": (3,),
    "require_few": (0, 3),
}
#: Those that are called with the values of the template; ScheduleError knows three by itself.
WITH_VALUES = (
    "CollsimError",
    "ScheduleError",
    "TopologyError",
    "FormatError",
    "UnverifiedError",
    "Sentence",
    "error",
    "build_error",
    "refuse",
)
PLACE = {"step", "rank", "chunk"}


def name_callee(call):
    if isinstance(call.func, ast.Attribute):
        whole = f"{getattr(call.func.value, 'id', '')}.{call.func.attr}"
        return whole if whole in SPEAKERS else call.func.attr
    return getattr(call.func, "id", "")


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def constants(tree):
    """{name: texts that have this name, in the order of the file}, and those of a table that has one."""
    found = {}
    for node in sorted((n for n in ast.walk(tree) if isinstance(n, ast.Assign)), key=lambda n: n.lineno):
        values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
        for target in node.targets if values and all(map(is_text, values)) else ():
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).extend(values)
    return found


def text_of(name, texts):
    """The text that a name stands for where it is used: the last one that it was given before, as in `why = "..."`."""
    given = texts.get(name.id, [])
    before = [text for text in given if text.lineno <= name.lineno]
    return before[-1] if before else given[0] if given else name


@cache
def spoken():
    """(where, call, position, node) of every template or sentence that the package says."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text())
        texts = constants(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            for at in SPEAKERS.get(name_callee(call), ()):
                if len(call.args) > at:
                    where = f"{path.relative_to(ROOT)}:{call.lineno}"
                    found += [(where, call, at, said) for said in choices(call.args[at], texts)]
    return found


def choices(node, texts):
    """The templates, or whatever stands for them, of which one argument may be."""
    if isinstance(node, ast.IfExp):
        return [*choices(node.body, texts), *choices(node.orelse, texts)]
    if isinstance(node, ast.BoolOp):
        return [choice for value in node.values for choice in choices(value, texts)]
    if isinstance(node, ast.BinOp):
        return [*choices(node.left, texts), *choices(node.right, texts)]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return texts.get(node.value.id, [node])
    return [text_of(node, texts) if isinstance(node, ast.Name) else node]


def templates():
    """Every template, and where it stands."""
    found = {join_words.__defaults__[0]: "errors.py"}
    found |= dict.fromkeys(load_absent_names().values(), "locale/synonyms.toml")
    found |= {machine.source: f"topology/machines/{name}.toml" for name, machine in cs.machines().items()}
    return found | {said.value: where for where, _, _, said in spoken() if is_text(said) and said.value}


def fields(template):
    return sorted({name for _, name, _, _ in Formatter().parse(template) if name is not None})


def test_every_sentence_has_its_chinese_and_no_chinese_is_without_a_sentence():
    english = templates()
    assert len(english) > 800
    assert not {where: key for key, where in english.items() if key not in CATALOGUE}
    assert not CATALOGUE.keys() - english.keys()


def test_a_sentence_has_the_same_fields_in_both_languages():
    """Texts without values are said as they are: a brace in them is no field."""
    plain = {key for key in CATALOGUE if "{...}" in key or ("{option: value}" in key and "{{" not in key)}
    assert not {key for key in CATALOGUE.keys() - plain if fields(key) != fields(CATALOGUE[key])}
    assert all(key.count("{") == CATALOGUE[key].count("{") for key in plain)


def test_every_field_gets_its_value_and_no_value_is_left_over():
    """Of a call that chooses among templates, each value stands in one of them."""
    wanted: dict[ast.Call, set[str]] = {}
    for where, call, at, said in spoken():
        name, given = name_callee(call), {k.arg for k in call.keywords}
        if name in WITH_VALUES and at == SPEAKERS[name][-1] and is_text(said) and given and None not in given:
            assert set(fields(said.value)) <= given, where
            wanted.setdefault(call, PLACE if name == "ScheduleError" else set())
            wanted[call] = wanted[call] | set(fields(said.value))
    assert len(wanted) > 600
    assert not [ast.unparse(call) for call, known in wanted.items() if not {k.arg for k in call.keywords} <= known]


def test_no_sentence_is_put_together_before_it_is_said():
    """An f-string, `%` or `.format` would be a template that no catalogue has."""
    built = {
        where: ast.unparse(said)
        for where, _, _, said in spoken()
        if isinstance(said, ast.JoinedStr)
        or (isinstance(said, ast.Call) and name_callee(said) in ("str", "format", "join"))
    }
    assert not built


# ---- saying them
# --------------------------------------------------------------------------------------------------------------------


def catch_texts(action):
    with pytest.raises(CollsimError) as caught:
        action()
    return str(caught.value), caught.value.text("zh")


def sends_what_is_not_there(n):
    yield cs.copy(0, 1, 0)
    yield cs.copy(2, 3, 0)


def test_an_error_is_said_in_both_languages():
    assert catch_texts(lambda: cs.units.parse_bytes("64M")) == (
        "nbytes='64M' is ambiguous: write 64MB (64,000,000 bytes) or 64MiB (67,108,864 bytes)",
        "nbytes='64M' 有歧义：请写 64MB（64,000,000 字节）或 64MiB（67,108,864 字节）",
    )
    assert catch_texts(lambda: cs.machine("dgx-h10")) == (
        "unknown machine 'dgx-h10'; did you mean 'dgx-h100' or 'dgx-a100' or 'dgx-1v'?",
        "没有名为 'dgx-h10' 的机器；您是不是要 'dgx-h100' 或 'dgx-a100' 或 'dgx-1v'？",
    )


def test_a_sentence_inside_another_is_said_in_the_same_language():
    assert catch_texts(lambda: cs.schedule("allreduce_swing", ranks=12)) == (
        "allreduce_swing: ranks=12: it needs a power of two; the nearest are 8 and 16",
        "allreduce_swing：ranks=12：rank 数必须是 2 的幂；最接近的是 8 和 16",
    )
    inner = CollsimError("{name} is not a rank", name=9)
    outer = FormatError("{file}: {reason}", file="a.csv", reason=inner)
    assert (str(outer), outer.text("zh")) == ("a.csv: 9 is not a rank", "a.csv：9 is not a rank")
    assert (str(join_words("abc")), join_words("abc").text("zh")) == ("a, b, c", "a、b、c")
    assert str(join_words([])) == ""


def test_steps_are_counted_from_one_in_sentences_and_from_zero_in_attributes(algorithm_of):
    plan = algorithm_of(sends_what_is_not_there, "broadcast")(4)
    with pytest.raises(ScheduleError) as caught:
        cs.verify(plan)
    assert caught.value.step == 1
    assert "step 2: rank 2 sends chunk 0 to rank 3, but holds nothing in it yet" in str(caught.value)
    assert "第 2 步：rank 2 要把 chunk 0 发给 rank 3，但它那里还没有数据" in caught.value.text("zh")


@pytest.fixture
def algorithm_of():
    """An algorithm that leaves the registry as it was."""
    before = dict(_REGISTRY)
    yield lambda function, collective: cs.algorithm(collective)(function)
    _REGISTRY.clear()
    _REGISTRY.update(before)


def test_words_of_somebody_else_stay_as_they_are():
    mine = CollsimError("use {copy} or 100 % {} {0} {{")
    assert str(mine) == mine.text("zh") == "use {copy} or 100 % {} {0} {{"
    placed = ScheduleError("{nobody} knows", step=3)
    assert (str(placed), placed.step) == ("{nobody} knows", 3)


def test_the_values_of_an_error_are_there():
    error = CollsimError("bucket of {size} bytes; give at least 1", size=0)
    assert (error.key, error.values) == ("bucket of {size} bytes; give at least 1", {"size": 0})
    assert str(error) == "bucket of 0 bytes; give at least 1"


def test_a_long_error_keeps_its_beginning_and_its_end():
    long = FormatError("{name}: {text}; save it as UTF-8", name="a.csv", text="x" * 10**6)
    assert len(str(long)) == 1000
    assert str(long).startswith("a.csv: xxx")
    assert str(long).endswith("xxx; save it as UTF-8")


class Odd:
    def __repr__(self):
        raise RuntimeError("no words for it")


@pytest.mark.parametrize(
    "error",
    [
        CollsimError("{a!r} and {b:,} and {c}", a="{b}", b=12345, c=np.int64(3)),
        ScheduleError(Translated("no {such} thing", "没有 {such}"), step=2),
        ScheduleError(
            "{label}, step {step}: {reason}", label="x(4)", reason=Sentence("rank {rank}", rank=1), step=0, rank=1
        ),
        CollsimError(describe_unknown("machine", "dgx-h10", ["dgx-h100"])),
        CollsimError("{value!r} is not a schedule", value=lambda n: n),
        CollsimError("{error}", error=FormatError("{file}: {reason}", file="a", reason=OSError(2, "gone"))),
        NoIsolation(),
    ],
)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_crosses_to_another_process(error, again):
    other = again(error)
    assert type(other) is type(error)
    assert (str(other), other.text("zh"), repr(other)) == (str(error), error.text("zh"), repr(error))
    assert [getattr(other, name, None) for name in PLACE] == [getattr(error, name, None) for name in PLACE]


HOSTILE = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["{", "}", "{0}", "{a.__class__}", "{a!r:>99}", "\ud800", "\0", "x" * 10**5, "%s"]),
    st.integers(-(10**40), 10**40),
    st.sampled_from([10**5000, float("nan"), None, Odd(), [Odd()], np.arange(3), b"\xff", "".join]),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a computer that others use, too
@given(st.sampled_from(sorted(CATALOGUE)), st.data(), st.sampled_from(["en", "zh"]))
def test_saying_never_fails_whatever_the_values(key, data, language):
    names = [name for _, name, _, _ in Formatter().parse(key) if name] if "{...}" not in key else []
    values = {name: data.draw(HOSTILE) for name in names}
    error = CollsimError(key, **values)
    text = error.text(language)
    assert isinstance(text, str)
    assert len(text) <= 4000
    for name, value in values.items() if " … " not in text else ():  # a value is never read as a template
        if isinstance(value, str) and 0 < len(value) < 100 and f"{{{name}}}" in key:
            assert value in text


def test_a_value_that_cannot_be_written_is_named_by_its_type():
    assert str(CollsimError("got {value!r}", value=Odd())) == "got a Odd"
    assert str(CollsimError("got {n:,} of {m}", n="many", m=3)) == "got many of 3"
    assert str(CollsimError("got {n}", n=10**5000)) == "got a number of 16,610 bits"
    assert str(format_value("9" * 900)).endswith("of 900 characters")


def test_a_sentence_calls_things_by_other_names_in_its_parts_too_and_keeps_them_over_processes():
    inner = Sentence("{link} carries the bytes of many hops", link="node0/gpu0 → node0/nic0")
    sentence = Sentence("{first}; {then}", first=inner, then="node0/gpu0 → node0/nic0")
    renamed = sentence.rename({"node0/gpu0 → node0/nic0": ("GPU 0 → NIC 0", "GPU 0 → 网卡 0")})
    for text in (renamed, pickle.loads(pickle.dumps(renamed))):
        assert text.text("en") == "GPU 0 → NIC 0 carries the bytes of many hops; GPU 0 → NIC 0"
        assert text.text("zh").count("GPU 0 → 网卡 0") == 2
        assert "node0" not in text.text("en") + text.text("zh")
    assert "node0/nic0" in str(sentence)


@pytest.mark.parametrize(("count", "text"), [(1, "1 node {a|b} 'x'"), (3, "3 nodes {a|b} 'x'")])
def test_a_sentence_chooses_a_word_by_a_number(count, text):
    assert str(cs.CollsimError("{count} {count:node|nodes} {{a|b}} {name!r}", count=count, name="x")) == text
