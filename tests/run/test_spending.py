"""Limits on dollars, tokens and unreadable replies, in whole runs against a real server."""

import asyncio
import json

import pytest
from llm_server import DEFAULT_TEXT, Answer, ScriptedServer
from scripted import data_of, run_small

import promptpo
from promptpo.config import RunConfig
from promptpo.errors import LimitReached, ModelUnavailable, UsageError
from promptpo.llm.messages import Message
from promptpo.llm.providers import dearest_price, price_of
from promptpo.run.limits import LEAST, REPLY, Ledger, RunAllowance, prompt_bound
from promptpo.store.events import Event
from promptpo.types import Key

MODEL = "openai/gpt-4o"
KEYS = [Key(1, number, role="policy") for number in (1, 2, 3)]
HELLO = (Message("user", "Hello"),)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def usage_of(received):
    """The most that a request may be billed: a token a byte, and all that the reply may have."""
    prompt = sum(len(m["content"].encode()) for m in received.body["messages"])
    return {"prompt_tokens": prompt, "completion_tokens": received.body["max_tokens"]}


def dearest(received):
    return Answer(members={"usage": usage_of(received)}, latency=0.05)


def billed(server, *, tokens=False):
    usages = [tuple(usage_of(r).values()) for r in server.requests]
    return sum(map(sum, usages)) if tokens else sum(price_of(MODEL).of(*u) for u in usages)


def small_run(tmp_path, server, **settings):
    few = {"rounds": 2, "candidates": 12, "episodes": 1, "selection_episodes": 0, "probe": 0}
    few |= {"test_episodes": 0, "max_repairs": 0, "model": MODEL, "early_stop": False}
    return run_small(tmp_path, api_base=server.url, **few | settings)


@pytest.mark.parametrize("limit", [{"max_cost": 0.5}, {"max_tokens": 60_000}], ids=str)
def test_calls_in_flight_together_never_take_more_than_the_limit(tmp_path, limit):
    with ScriptedServer(dearest) as server:
        result, _ = small_run(tmp_path, server, **limit)
    (spent,) = limit.values()
    assert len(server.requests) >= 2
    assert 0.5 * spent < billed(server, tokens="max_tokens" in limit) <= spent
    assert result.status == "stopped"
    assert "the limit of" in result.reason


def test_cheap_replies_give_back_what_was_set_aside_for_them(tmp_path):
    with ScriptedServer(latency=0.05) as server:
        result, _ = small_run(tmp_path, server, max_cost=0.5, rounds=1, candidates=5)
    assert result.status == "finished"
    assert len(server.requests) == 6
    assert server.most_in_flight < 5


def test_a_limit_below_one_call_asks_nothing(tmp_path):
    with ScriptedServer() as server:
        result, _ = small_run(tmp_path, server, max_cost=0.001)
    assert (result.status, server.requests) == ("stopped", [])
    assert "the limit of $0.001 leaves no room" in result.reason


def test_what_a_provider_does_not_tell_is_taken_to_be_all_that_was_set_aside(tmp_path):
    with ScriptedServer(lambda _: Answer(members={"usage": None})) as server:
        result, _ = small_run(tmp_path, server, max_cost=0.5)
        assert 0 < billed(server) <= 0.5
        asked = len(server.requests)
        again = promptpo.optimize(resume=result.folder)
    assert (result.status, again.status) == ("stopped", "stopped")
    assert len(server.requests) == asked


def test_tries_that_brought_no_reply_and_may_be_billed_count(tmp_path):
    with ScriptedServer(lambda _: Answer(kind="garbage", text="{}")) as server:
        result, _ = small_run(tmp_path, server, max_cost=0.35)
    assert result.status == "stopped"
    assert 0 < billed(server) <= 0.35


def test_tries_that_were_refused_are_not_billed(tmp_path):
    faults = [Answer(status=429)] * 2
    with ScriptedServer(faults) as server:
        result, _ = small_run(tmp_path, server, max_cost=0.35, rounds=1, candidates=1)
    assert result.status == "finished"


def test_what_a_kill_cut_short_counts_and_what_was_refused_does_not():
    def sent(number):
        return Event("reserved", {"key": vars_of(KEYS[number]), "tokens": 10, "cost": 0.25})

    past = [sent(0), sent(1), Event("unbilled", {"key": vars_of(KEYS[1])}), sent(0)]
    book = Ledger(RunConfig(max_cost=0.5, model=MODEL), 100, past)
    with pytest.raises(LimitReached, match=r"\$0\.5 is reached"):
        book.check()
    assert book.spending.lost.tokens == 20


def vars_of(key):
    return {name: getattr(key, name) for name in ("round", "candidate", "attempt", "role")}


def test_a_call_waits_for_those_in_flight_and_has_what_they_leave():
    book = Ledger(RunConfig(max_tokens=REPLY + 5000, model=MODEL), 100)

    async def go():
        first, second = (
            RunAllowance(book.spending, k, HELLO, book.check, lambda *_, **__: None)
            for k in KEYS[:2]
        )
        await first.take()
        waiting = asyncio.create_task(second.take())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        book.spending.settle(KEYS[0], None, None)
        await waiting
        return first.reply_tokens, second.reply_tokens

    assert asyncio.run(go()) == (REPLY, 5000 - 2 * prompt_bound(HELLO))


def test_a_reply_that_could_hold_too_little_is_not_paid_for():
    book = Ledger(RunConfig(max_tokens=LEAST, model=MODEL), 100)
    allowance = RunAllowance(book.spending, KEYS[0], HELLO, book.check, lambda *_, **__: None)
    with pytest.raises(LimitReached, match="limit of 1,500 tokens leaves no room"):
        asyncio.run(allowance.take())


def test_the_full_price_is_set_aside():
    price = dearest_price("anthropic/claude-sonnet-4-5", 1000)
    assert price.prompt > price_of("anthropic/claude-sonnet-4-5").prompt  # to write to the cache
    long = dearest_price("gemini/gemini-2.5-pro", 300_000)
    assert long.completion > price_of("gemini/gemini-2.5-pro").completion


def test_a_price_that_is_unknown_is_refused_before_there_is_a_folder(tmp_path):
    with (
        ScriptedServer() as server,
        pytest.raises(UsageError, match=r"price of openai/own is unknown.*--max-tokens") as refused,
    ):
        small_run(tmp_path, server, model="openai/own", max_cost=1)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "runs").exists()
    assert not server.requests


def test_what_costs_nothing_needs_no_price(tmp_path):
    result, events = run_small(
        tmp_path, model="builtin", max_cost=0.01, rounds=1, candidates=1, tune=False,
    )  # fmt: skip
    assert result.status == "finished"
    assert not data_of(events, "reserved")


def test_without_a_limit_a_reply_has_none(tmp_path):
    with ScriptedServer() as server:
        _, events = small_run(tmp_path, server, rounds=1, candidates=1)
    assert all("max_tokens" not in r.body for r in server.requests)
    assert not data_of(events, "reserved")


def test_a_reply_may_be_limited_without_another_limit(tmp_path):
    with ScriptedServer() as server:
        small_run(tmp_path, server, rounds=1, candidates=1, max_reply_tokens=77)
    assert {r.body["max_tokens"] for r in server.requests} == {77}


METHODS = {
    "promptpo": {"max_repairs": 10},
    "inspo": {},
    "best-of-n": {},
    "props": {"warm_up": 2},
    "r2po": {"warm_up": 2},
}


@pytest.mark.parametrize("text", ["I would rather not.", ""], ids=["no code", "empty"])
@pytest.mark.parametrize("method", METHODS)
def test_replies_with_nothing_to_play_end_the_run(tmp_path, method, text):
    with ScriptedServer(default=Answer(text=text)) as server:
        result, _ = run_small(
            tmp_path, method=method, model=MODEL, api_base=server.url, max_unreadable=7,
            rounds=50, max_concurrency=1, patience=0, **METHODS[method],
        )  # fmt: skip
    assert (len(server.requests), result.status) == (7, "stopped"), result.reason
    assert result.reason.startswith("7 replies in a row held nothing to play")


def test_a_reply_with_something_to_play_begins_the_count_anew(tmp_path):
    texts = ["No.", "No.", DEFAULT_TEXT] * 4
    with ScriptedServer([Answer(text=t) for t in texts], default=Answer(text="No.")) as server:
        result, _ = run_small(
            tmp_path, method="best-of-n", model=MODEL, api_base=server.url, max_unreadable=3,
            rounds=50, max_concurrency=1, patience=0,
        )  # fmt: skip
    assert len(server.requests) == 15
    assert result.status == "stopped"


def test_a_run_that_ended_so_goes_on_with_a_count_of_its_own(tmp_path):
    with ScriptedServer(default=Answer(text="No.")) as server:
        settings = {"method": "best-of-n", "model": MODEL, "max_unreadable": 3, "patience": 0}
        first, _ = run_small(
            tmp_path, api_base=server.url, rounds=2, max_concurrency=1, candidates=4, **settings
        )
        assert len(server.requests) == 3
        server.script = lambda _: Answer()
        again = promptpo.optimize(resume=first.folder)
    assert again.status == "finished"
    assert again.best is not None


def test_a_run_whose_calls_are_given_up_may_have_been_billed(tmp_path):
    hang = Answer(kind="hang")
    with ScriptedServer([Answer()], default=hang) as server, pytest.raises(ModelUnavailable):
        small_run(tmp_path, server, max_cost=5, candidates=2, call_timeout=2)
    [log] = (tmp_path / "runs").rglob("events.jsonl")
    kinds = [json.loads(line)["type"] for line in log.read_text().splitlines()]
    assert (kinds.count("reserved"), kinds.count("reply"), kinds.count("unbilled")) == (3, 1, 0)
