"""Which messages of a page reach Streamlit: a few types, each of a limited size, however the bytes are damaged."""

import os
import random
import time

import pytest
from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from collsim.app.server.message_filter import JSON_BYTES, LIMITS, WIDGET_VALUES, judge_message


def rerun(*widgets, **fields):
    message = BackMsg()
    for name, value in fields.items():
        setattr(message.rerun_script, name, value)
    message.rerun_script.widget_states.widgets.extend(widgets)
    return message


def asks_for_addresses(count, name="a"):
    message = BackMsg()
    message.file_urls_request.request_id = "1"
    message.file_urls_request.file_names.extend([name] * count)
    return message


def judge(message):
    return judge_message(message.SerializeToString())


def widget(kind, value):
    state = WidgetState(id="w")
    if isinstance(value, list):
        getattr(state, kind).data.extend(value)
    else:
        setattr(state, kind, value)
    return state


WIDGETS = [
    widget("trigger_value", True),
    widget("bool_value", False),
    widget("double_value", 0.5),
    widget("int_value", -3),
    widget("string_value", "ring 环"),
    widget("string_array_value", ["a", "b"]),
    widget("json_value", '{"t": 1}'),
]


def test_what_pages_send_reaches_streamlit():
    whole = rerun(*WIDGETS, query_string="ranks=8", page_script_hash="ab", fragment_id="cd", is_auto_rerun=True)
    whole.rerun_script.cached_message_hashes.extend(["ef"] * 40)
    whole.rerun_script.context_info.timezone_offset = -60
    assert judge(whole) == "pass"
    assert judge(BackMsg(stop_script=True)) == "pass"
    assert judge(BackMsg(app_heartbeat=True)) == "pass"
    assert judge(asks_for_addresses(3, "my algorithm.py")) == "pass"
    assert judge(rerun()) == "pass"


def test_no_other_type_of_message_reaches_it_whatever_streamlit_adds():
    dropped = set()
    for field in BackMsg.DESCRIPTOR.fields:
        message = BackMsg()
        if field.message_type is None:
            setattr(message, field.name, True)
        else:
            getattr(message, field.name).SetInParent()
        if judge(message) == "drop":
            dropped.add(field.name)
    assert dropped == {field.name for field in BackMsg.DESCRIPTOR.fields} - set(LIMITS)
    assert {"clear_cache", "set_run_on_save", "load_git_info", "debug_shutdown_runtime"} <= dropped


def test_no_other_kind_of_value_reaches_it():
    values = {field.name for field in WidgetState.DESCRIPTOR.oneofs_by_name["value"].fields}
    assert values > WIDGET_VALUES
    for name in values - WIDGET_VALUES:
        state = WidgetState(id="w")
        if name == "bytes_value":
            state.bytes_value = b"x"
        else:
            getattr(state, name).SetInParent()
        assert judge(rerun(state)) == "drop", name


def test_of_two_types_in_one_message_the_last_would_win_so_it_is_dropped():
    rerun_first = rerun(query_string="a").SerializeToString() + BackMsg(clear_cache=True).SerializeToString()
    assert BackMsg.FromString(rerun_first).WhichOneof("type") == "clear_cache"
    assert judge_message(rerun_first) == "drop"
    assert judge_message(BackMsg(clear_cache=True).SerializeToString() + rerun().SerializeToString()) == "drop"
    assert judge_message(rerun().SerializeToString() * 2) == "drop", "Streamlit would join the two"


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (lambda count: asks_for_addresses(count - 1), LIMITS["file_urls_request"].fields),
        (lambda count: rerun(*[WidgetState()] * (count - 1)), LIMITS["rerun_script"].fields),
        (lambda count: rerun(widget("string_array_value", [""] * (count - 4))), LIMITS["rerun_script"].fields),
    ],
    ids=["addresses", "controls", "texts"],
)
def test_a_message_has_so_many_fields_and_no_more(message, limit):
    assert judge(message(limit)) == "pass"
    assert judge(message(limit + 1)) == "close"


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (lambda length: rerun(query_string="q" * length), LIMITS["rerun_script"].nbytes),
        (lambda length: rerun(widget("string_value", "t" * length)), LIMITS["rerun_script"].nbytes),
        (lambda length: rerun(widget("json_value", "j" * length)), JSON_BYTES),
        (lambda length: rerun(widget("json_trigger_value", "j" * length)), JSON_BYTES),
        (lambda length: asks_for_addresses(1, "n" * length), LIMITS["file_urls_request"].nbytes),
    ],
    ids=["address", "text", "JSON", "JSON of a click", "name of a file"],
)
def test_a_message_has_so_many_bytes_and_no_more(message, limit):
    assert judge(message(limit - 100)) == "pass"
    assert judge(message(limit + 100)) == "close"


def test_a_million_names_are_refused_without_reading_them():
    data = asks_for_addresses(1_000_000).SerializeToString()
    took = []
    for _ in range(5):
        began = time.process_time()
        assert judge_message(data) == "close"
        took.append(time.process_time() - began)
    assert min(took) < 0.02  # decoding them takes some 50 ms, answering them 19 s


def test_the_longest_machine_and_the_longest_code_that_pages_take_reach_it():
    from collsim.app.scenario.custom_machine import LONGEST_TEXT
    from collsim.sandbox.allowlist import LONGEST

    assert judge(rerun(widget("string_value", "y" * LONGEST_TEXT), widget("json_value", "码" * LONGEST))) == "pass"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x5a",  # rerun_script, and its length is missing
        b"\x5a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # 2^64 - 1 bytes long
        b"\x5a" + b"\xff" * 11,  # a number that does not end
        b"\x5a\x02\x0a\x05",  # a text longer than its message
        b"\x5a\x01\x0b",  # a group begins
        b"\x5b\x5c",  # a group
        b"\x58\x01",  # rerun_script as a number
        b"\x5a\x03\x10\x96\x01",  # widget_states as a number
        b"\x5a\x05\xfa\x07\x02ab",  # a field that it does not have
    ],
)
def test_bytes_that_are_no_message_of_a_page_do_not_reach_it(data):
    assert judge_message(data) != "pass"


def damage(data, rng):
    """The bytes with something done to them."""
    at = rng.randrange(len(data) + 1)
    return rng.choice(
        [
            lambda: data[:at],
            lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
            lambda: data[:at] + os.urandom(rng.randrange(9)) + data[at:],
            lambda: data[:at] + data[rng.randrange(len(data) + 1) :],
            lambda: data[:at] + b"\xff" * rng.randrange(1, 12) + data[at:],
            lambda: data[at:] + data[:at],
        ]
    )()


def test_whatever_is_done_to_a_message_what_passes_is_one_of_a_page():
    rng = random.Random(7)
    samples = [rerun(*WIDGETS, query_string="a=b"), asks_for_addresses(5), BackMsg(app_heartbeat=True)]
    passed = 0
    for _ in range(20_000):
        data = rng.choice(samples).SerializeToString()
        for _ in range(rng.randrange(1, 4)):
            data = damage(data, rng)
        if judge_message(data) != "pass":
            continue
        passed += 1
        try:
            message = BackMsg.FromString(data)
        except DecodeError:  # a text that is no UTF-8: Streamlit says so and closes the page
            continue
        assert message.WhichOneof("type") in LIMITS
        size = message.ByteSize()
        message.DiscardUnknownFields()
        assert message.ByteSize() == size, "nothing in it that Streamlit does not know"
        values = {state.WhichOneof("value") for state in message.rerun_script.widget_states.widgets}
        assert values <= WIDGET_VALUES | {None}
    assert passed > 500
