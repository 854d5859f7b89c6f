"""``--dry-run``: what a run, or a sweep, may take; dollars where the price is known."""

import pytest

from promptpo.cli import main

GPT = ("--model", "openai/gpt-5")


def rows(capsys, *argv):
    """Labels and words of what is printed."""
    assert main([*argv, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {line[:11].strip(): line[13:] for line in lines}


def table(capsys, *argv):
    """The lines of a sweep's table by spec, and the notes below it."""
    assert main([*argv, "--dry-run"]) == 0
    above, _, below = capsys.readouterr().out.partition("\n\n")
    header, *lines = (line.split("  ") for line in above.splitlines())
    cells = [[cell.strip() for cell in line if cell.strip()] for line in [header, *lines]]
    return {c[0]: dict(zip(cells[0][1:], c[1:], strict=True)) for c in cells[1:]}, below


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
    one, _ = table(capsys, "cartpole", "nim", *GPT)
    lines, notes = table(capsys, "cartpole", "nim", "--seeds", "0..4", "--max-cost", "2", *GPT)
    assert list(lines) == ["cartpole", "nim", "together"]
    assert [line["runs"] for line in lines.values()] == ["5", "5", "10"]
    for column in ("calls", "env steps"):
        count = {name: int(line[column].replace(",", "")) for name, line in lines.items()}
        assert count["together"] == count["cartpole"] + count["nim"]
        assert count["nim"] == 5 * int(one["nim"][column].replace(",", ""))
    dollars = [float(line["cost"].strip("$")) for line in lines.values()]
    assert dollars[2] == pytest.approx(dollars[0] + dollars[1], abs=0.02)
    assert "Limits hold for each run: --max-cost 2." in notes


def test_a_total_with_an_unknown_part_is_unknown(capsys, monkeypatch):
    monkeypatch.delenv("PROMPTPO_MODEL", raising=False)
    lines, notes = table(capsys, "cartpole", "nim")
    assert [line["cost"] for line in lines.values()] == ["$0.00", "unknown", "unknown"]
    assert "The cost is unknown: no model is configured yet." in notes
