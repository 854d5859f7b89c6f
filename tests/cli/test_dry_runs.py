"""``--dry-run``: what a run, or a sweep, may take; dollars where the price is known."""

import re

import pytest

from promptpo.cli import main

GPT = ("--model", "openai/gpt-5")


def rows(capsys, *argv):
    """Labels and words of what is printed."""
    assert main([*argv, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {line[:11].strip(): line[13:] for line in lines}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "$0.00"),
        (("--model", "openai/gpt-nothing"), "unknown: litellm has no price for openai/gpt-nothing"),
        (("--model", "manual"), "unknown: replies come by hand"),
        ((*GPT, "--api-base", "http://localhost:1"), "unknown: the server of --api-base has"),
    ],
)
def test_the_cost_of_a_run(capsys, monkeypatch, argv, words):
    monkeypatch.delenv("PROMPTPO_MODEL", raising=False)
    assert rows(capsys, "cartpole", *argv)["cost"].startswith(words)


def test_dollars_are_tokens_times_price(capsys):
    told = rows(capsys, "cartpole", *GPT, "--max-cost", "3")
    words = told["tokens"].split()
    sent, received = (int(words[i].replace(",", "")) for i in (1, 4))
    cost = float(told["cost"].split()[1].strip("$,"))
    assert cost == pytest.approx(sent * 1.25e-6 + received * 1e-5, rel=0.05)
    assert told["cost"].endswith("without repairs; --max-cost stops it at $3")


def test_no_model_no_cost(capsys):
    told = rows(capsys, "nim", "--method", "random-search")
    assert told["model"] == "none is asked"
    assert "cost" not in told


def test_a_sweep_is_added_up(capsys):
    ones = [rows(capsys, name, *GPT) for name in ("cartpole", "nim")]
    told = rows(capsys, "cartpole", "nim", "--seeds", "0..4", "--max-cost", "2", *GPT)
    assert (told["task"], told["runs"]) == ("cartpole, nim", "10, together:")
    for label in ("calls", "env steps", "search", "held-out"):
        counts = [int(re.match(r"[0-9,]+", each[label])[0].replace(",", "")) for each in ones]
        assert told[label].startswith(f"{5 * sum(counts):,}")
    dollars = [float(each["cost"].split()[1].strip("$,")) for each in ones]
    assert float(told["cost"].split()[1].strip("$,")) == pytest.approx(5 * sum(dollars), abs=0.1)
    assert told["limits"] == "for each run: --max-cost 2"


def test_a_total_with_an_unknown_part_is_unknown(capsys, monkeypatch):
    monkeypatch.delenv("PROMPTPO_MODEL", raising=False)
    assert rows(capsys, "cartpole", "nim")["cost"] == "unknown: no model is configured yet"
