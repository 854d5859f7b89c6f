"""Replaying the replies of an earlier run."""

import asyncio
import importlib.resources
import json
import os
import re
from pathlib import Path

import pytest

from promptpo.errors import ModelError
from promptpo.llm import ModelSettings, default_model, open_model
from promptpo.llm.messages import Message, Reply, Request, tokens_of
from promptpo.llm.recording import (
    FORMERLY,
    RecordingHeader,
    ReplyMissing,
    find_recording,
    load_header,
    load_recording,
    reply_event,
    reply_from_event,
)
from promptpo.types import Key

CONFIG = {
    "seed": 3,
    "rounds": 1,
    "candidates": 2,
    "episodes": 5,
    "out": "elsewhere",
    "max_cost": 2.0,
}
HEADER = {
    "type": "recording", "format": 2, "spec": "cartpole", "config": CONFIG,
    "how": "by hand", "model": "test/one", "date": "2026-11-20",
}  # fmt: skip


def request(candidate=1, text="Write a policy.", role="policy", attempt=0):
    return Request(Key(1, candidate, attempt, role), (Message("user", text),))


def reply_line(req, text):
    reply = Reply(text, "test/one", usage={"prompt_tokens": 7}, cost=0.5, latency=3.0)
    return {"type": "reply", "time": 1.0, **reply_event(req, reply)}


def write(path, *events, end="\n"):
    path.write_text("\n".join(json.dumps(e) for e in events) + end, encoding="utf-8")
    return path


@pytest.fixture
def recording(tmp_path):
    other = {"type": "rollout", "time": 2.0, "round": 1}
    replies = [reply_line(request(c), f"reply {c}") for c in (1, 2)]
    return write(tmp_path / "events.jsonl", HEADER, other, *replies)


def replay(path, *requests):
    """The replies (or errors) and the notices of one model that is asked all of them."""
    notices = []

    async def go():
        model = open_model(ModelSettings(f"recorded:{path}", notify=notices.append))
        asked = await asyncio.gather(*map(model.ask, requests), return_exceptions=True)
        await model.close()
        await model.close()
        return asked

    return asyncio.run(go()), notices


def test_replies_are_found_by_key_in_any_order_and_cost_nothing(recording):
    for path in (recording, recording.parent):
        (second, first), notices = replay(path, request(2), request(1))
        assert (second.text, first.text, notices) == ("reply 2", "reply 1", [])
        assert (first.cost, first.latency, first.model) == (0.0, 0.0, "test/one")
        assert tokens_of(first.usage) == (0, 0)


def test_a_changed_prompt_is_noted_on_the_reply_and_counted_once(recording):
    replies, notices = replay(recording, request(1, "Write another."), request(2))
    assert [bool(r.note) for r in replies] == [True, False]
    assert len(notices) == 1
    assert "1 of 2" in notices[0]


def test_a_missing_reply_says_what_there_is(recording):
    errors, _ = replay(recording, request(3), request(1, role="repair", attempt=1))
    assert [type(error) for error in errors] == [ReplyMissing] * 2
    assert "r01_c03_policy" in str(errors[0])
    assert "2 replies, rounds 1 to 1" in str(errors[0])


def test_a_last_line_cut_by_a_kill_is_left_out_with_a_notice(recording):
    whole = recording.read_text(encoding="utf-8")
    recording.write_text(whole.rstrip("\n"), encoding="utf-8")
    assert not load_recording(recording).cut
    recording.write_text(whole[:-20], encoding="utf-8")
    replies, notices = replay(recording, request(1), request(2))
    assert replies[0].text == "reply 1"
    assert isinstance(replies[1], ReplyMissing)
    assert "cut off" in notices[0]


def test_the_header_holds_what_decides_the_replies_and_nothing_else(tmp_path):
    """Prompts of what was recorded without ``prepare_time`` did not tell of ``prepare``."""

    def header(**config):
        first = {**HEADER, "config": {**CONFIG, **config}}
        return load_header(write(tmp_path / "x.jsonl", first))

    taken = {"seed": 3, "rounds": 1, "candidates": 2, "episodes": 5, **FORMERLY}
    own = {"max_repairs": 1}
    assert header().spec == "cartpole"
    assert header(options=own).settings == taken | own
    assert header(prepare_time=30.0).settings == taken | {"prepare_time": 30}
    # Policies that declare constants for an optimizer fail where there is none.
    own = {"tune": True, "tune_steps": 500_000, "tune_share": 0.4, "constants": "declared"}
    assert header(**own).settings == taken | own
    assert RecordingHeader({}).settings == FORMERLY
    first = {"type": "run", "time": 0.0, "format": 2, "config": CONFIG}
    assert load_header(write(tmp_path / "events.jsonl", first)).settings["rounds"] == 1
    assert load_header(write(tmp_path / "events.jsonl", {"type": "notice", "text": "x"})) is None


@pytest.mark.parametrize("kind", ["recording", "run"])
@pytest.mark.parametrize("read", [load_header, load_recording])
def test_another_format_is_refused_in_one_line(tmp_path, kind, read):
    first = {name: value for name, value in HEADER.items() if name != "format"} | {"type": kind}
    path = write(tmp_path / "x.jsonl", first, reply_line(request(), "x"))
    with pytest.raises(ModelError, match=r"x\.jsonl:1: .*: format 1; only format 2 is read"):
        read(path)


KEY = {"role": "policy", "round": 1, "candidate": 1, "attempt": 0}


def broken_reply(**fields):
    line = {**reply_line(request(), "x"), **fields}
    return json.dumps(HEADER) + "\n" + json.dumps(line) + "\n"


def broken_header(**fields):
    return json.dumps(HEADER | fields) + "\n"


def broken_config(**settings):
    return broken_header(config={**CONFIG, **settings})


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("", "no reply in it"),
        ("nonsense\n{}\n", ":1: not JSON"),
        ("[1]\n", ":1: not a JSON object"),
        ("null\n", ":1: not a JSON object"),
        ('{"type": "reply"}\n', "1: Object missing required field `key`"),
        ('{"type": "recording", "format": 2}\n', "1: Object missing required field `config`"),
        ("{}\n", "1: Object missing required field `type`"),
        ('{"type": 7}\n', "1: Expected `str`, got `int` - at `$.type`"),
        (broken_reply(key=[]), "2: Expected `object`, got `array` - at `$.key`"),
        (broken_reply(text=None), "2: Expected `str`, got `null` - at `$.text`"),
        (broken_reply(key=KEY | {"round": "1"}), "2: Expected `int`, got `str` - at `$.key.round`"),
        (
            broken_reply(key=KEY | {"candidate": -1}),
            "`int` >= 0 - at `$.key.candidate`",
        ),
        (broken_header(config=[]), "1: Expected `object`, got `array` - at `$.config`"),
        (broken_config(rounds="3"), "1: rounds must be a whole"),
        (broken_config(rounds=10**30), "1: rounds must be at most 1,000"),
        (broken_config(episodes=0), "1: episodes must be at least 1"),
        (broken_config(options=[]), "1: Expected `object | null`, got `array` - at `$.options`"),
        (broken_header(policy_seed=-1), "1: policy_seed must be at least 0"),
        ("[" * 100_000 + "\n{}\n", ":1: not JSON (maximum recursion depth"),
        ('{"a": ' + "9" * 5000 + "}\n{}\n", ":1: not JSON (Exceeds the limit"),
    ],
)
def test_a_broken_recording_is_one_line_with_file_and_line(tmp_path, lines, complaint):
    path = tmp_path / "broken.jsonl"
    path.write_text(lines, encoding="utf-8")
    complaint = re.sub("^([0-9]):", r":\1: not an event of a recording:", complaint)
    with pytest.raises(ModelError) as caught:
        load_recording(path)
    assert str(path) + (complaint if complaint[0] == ":" else "") in str(caught.value)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("load", [load_recording, load_header])
@pytest.mark.parametrize(
    ("encoding", "complaint"),
    [("utf-16", ":1: the file is UTF-16; save it as UTF-8"), ("latin-1", ":1: not JSON ('utf-8'")],
)
def test_a_recording_that_is_no_utf_8_says_so(tmp_path, load, encoding, complaint):
    path = tmp_path / "x.jsonl"
    header = json.dumps(HEADER | {"how": "by caf\xe9"}, ensure_ascii=False)
    path.write_bytes(f"{header}\n{{}}\n".encode(encoding))
    with pytest.raises(ModelError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{complaint}")


def test_a_byte_order_mark_is_no_damage(recording):
    recording.write_bytes(b"\xef\xbb\xbf" + recording.read_bytes())
    assert load_header(recording).settings["seed"] == 3
    assert len(load_recording(recording).replies) == 2


@pytest.mark.parametrize("odd", [None, "x", [1], {"a": 1}, -1, True, float("nan")], ids=repr)
def test_numbers_and_names_of_a_recorded_reply_may_be_anything(odd):
    fields = ("usage", "cost", "latency", "model", "finish_reason", "prompt_sha256")
    event = reply_line(request(), "x") | dict.fromkeys(fields, odd)
    _, recorded = reply_from_event(event)
    assert recorded.reply.text == "x"
    assert recorded.reply.cost is None
    assert recorded.reply.latency == 0.0


def test_what_is_no_recording_says_what_to_give(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(ModelError, match="not a file; give recorded:PATH"):
            load_header(path)
    with pytest.raises(ModelError, match="give recorded:PATH"):
        open_model(ModelSettings(f"recorded:{tmp_path / 'none'}"))
    with pytest.raises(ModelError, match="no recording"):
        open_model(ModelSettings("recorded"))
    for name in ("no_such_spec", "../errors", ""):
        assert find_recording(name) is None


SHIPPED = sorted(Path(str(importlib.resources.files("promptpo") / "recordings")).glob("*.jsonl"))


def test_shipped_recordings_are_found_whole_and_the_default():
    assert len(SHIPPED) > 5
    for path in SHIPPED:
        recording = load_recording(path)
        spec, _, method = path.stem.partition(".")
        assert recording.header.spec == spec
        assert recording.header.settings["method"] == (method or "promptpo")
        assert not recording.cut
        assert find_recording(spec, method) == path
        assert default_model(spec, {}, method) == "recorded"


def test_a_method_without_a_recording_has_that_of_the_spec_where_another_will_do():
    assert find_recording("mujoco_hopper", "best-of-n") == find_recording("mujoco_hopper")
    assert find_recording("mujoco_hopper", "props", only=True) is None
    with pytest.raises(ModelError, match="has no recording of --method props to replay; use") as e:
        default_model("mujoco_hopper", {}, "props", only=True)
    assert "builtin" not in str(e.value)


def test_a_reply_survives_the_way_through_the_log():
    reply = Reply("text …", "m", "length", {"completion_tokens": 1}, None, 1.5)
    event = json.loads(json.dumps(reply_event(request(), reply)))
    key, recorded = reply_from_event(event)
    assert (key, recorded.reply) == (request().key, reply)


def test_a_header_states_the_seed_of_the_policies_random_numbers(tmp_path):
    run = {"type": "run", "format": 2}
    for first, seed in (
        ({**HEADER, "policy_seed": 5}, 5),
        (HEADER, 0),
        ({**run, "config": {"policy_seed": 6}}, 6),
        ({**run, "config": {"policy_seed": None}}, 0),
    ):
        path = write(tmp_path / "events.jsonl", first, reply_line(request(), "x"))
        assert load_header(path).policy_seed == load_recording(path).header.policy_seed == seed
