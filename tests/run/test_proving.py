"""A policy that leans on other episodes is found out, scored without them, and marked."""

import json
import shutil

import pytest
from company import COUNTED, counted_cartpole
from scripted import BAD, GOOD, data_of, replies, run

import promptpo
from promptpo.cli import main
from promptpo.cli.listing import run_row
from promptpo.comparison.groups import panels
from promptpo.comparison.history import read_history
from promptpo.comparison.records import score_records
from promptpo.comparison.tables import notes, run_rows
from promptpo.report.page import render_report
from promptpo.rollout import proof
from promptpo.store.codec import decode
from promptpo.store.reading import read_record
from promptpo.trackers.feed import Feed
from promptpo.types import Key
from promptpo.ui import summary
from promptpo.ui.progress import Progress

MARK = "depends on other episodes"


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return str(counted_cartpole(tmp_path_factory.mktemp("spec")))


#: Falls later than what falls at once, but far sooner than COUNTED in company.
STEADY = GOOD.replace("> 0)", "> 0.1)")


@pytest.fixture(scope="module")
def marked(spec, tmp_path_factory):
    """A run with candidates that search episodes find out: result and events."""
    script = replies([COUNTED, STEADY], [COUNTED, COUNTED])
    return run(tmp_path_factory.mktemp("marked"), script, spec=spec)


@pytest.fixture(scope="module")
def late(spec, tmp_path_factory):
    """A run whose winner is found out by its held-out episodes only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(proof.MOST, "search", 0)
        script = replies([COUNTED], [BAD])
        return run(tmp_path_factory.mktemp("late"), script, spec=spec, rounds=1)


def named(data):
    """The candidate that an event is about."""
    return decode(Key, data["key"]).name


def returns(data):
    """Those of a rollout event."""
    return [episode["return"] for episode in data["episodes"]]


def test_a_rounds_winner_is_scored_alone_once_it_is_found_out(marked):
    result, events = marked
    first, again = (
        data for data in data_of(events, "rollout")
        if data["stream"] == "search" and named(data) == "r01_c01"
    )  # fmt: skip
    assert (max(returns(first)), first["mark"]) == (500, "")
    assert (max(returns(again)), again["mark"]) == (10, MARK)
    assert result.rounds[0].candidates[0].score.mean_return < 11


def test_what_it_gained_from_others_wins_no_round(marked):
    result, events = marked
    scores = {named(c): c["score"]["mean_return"] for c in data_of(events, "candidate")[:2]}
    assert scores["r01_c01"] > 250 > scores["r01_c02"] > 10
    assert [r.winner.name for r in result.rounds] == ["r01_c02", "r02_c01"]
    assert result.best.name == "r01_c02"


def test_the_next_prompt_says_so_and_what_to_do(marked):
    result, _ = marked
    prompt = (result.folder / "prompts/r02_c01_policy.prompt.md").read_text()
    assert f"each episode alone ({MARK})" in prompt
    assert "keep nothing in modules, classes" in prompt


def test_held_out_episodes_are_measured_anew_and_both_scores_are_on_record(late):
    result, events = late
    together, alone = (r for r in data_of(events, "rollout") if r["stream"] == "test")
    assert max(returns(together)) == 500
    assert list(result.test.returns) == returns(alone)
    assert max(result.test.returns) == 10
    assert result.proof.score["mean_return"] == sum(returns(together)) / 3
    (proven,) = (p for p in data_of(events, "proof") if p["stream"] == "test")
    assert (proven["verdict"], tuple(proven["seeds"])) == (MARK, result.test.seeds[:0:-1])
    assert result.usage.steps["test"] == together["steps"] + alone["steps"]


def test_the_record_holds_the_mark(late):
    result, _ = late
    info = json.loads((result.folder / "run.json").read_text())
    assert info["test"]["mark"] == info["best"]["mark"] == info["proof"]["verdict"] == MARK
    assert info["test"]["score"]["mean_return"] == result.test.score.mean_return


def test_people_are_told_wherever_they_look(late):
    result, events = late
    folder = result.folder
    assert f"({MARK})" in run_row(folder)[-1]
    for file in ("README.md", "best/policy.py"):
        assert MARK.capitalize() in (folder / file).read_text()
    assert f"<strong>{MARK.capitalize()}.</strong>" in render_report([read_record(folder)])
    progress = Progress()
    for event in events:
        progress.apply(event)
    rows = dict(row for row in summary.closing(progress) if row[0])
    assert rows["marked"].startswith(f"{MARK}: 2 of 2 held-out episodes")


def test_comparisons_know_it(late):
    found = panels([read_history(late[0].folder)])
    assert any(MARK in note for note in notes(found))
    assert run_rows(found[0])[0][4].endswith(" *")
    assert score_records(found)[0]["mark"] == MARK


def test_a_learning_curve_forgets_the_score_that_was_lost(marked):
    result, _ = marked
    points = read_history(result.folder).points
    assert len(points) == 4
    assert points[-1].best == result.best.score


def test_trackers_are_told(late):
    feed = Feed()
    deliveries = [d for event in late[1] for d in feed.apply(event)]
    assert feed.summary["test/marked"] == 1
    assert len({d.key for d in deliveries}) == len(deliveries)


@pytest.mark.slow
def test_eval_says_what_was_proven(spec, tmp_path, capsys):
    rows = evaluated(GOOD, spec, tmp_path, capsys)
    assert rows["proof"].startswith("3 held-out episodes again, each alone in a fresh process: the")
    assert "marked" not in rows


def test_eval_scores_such_a_policy_alone_and_says_so(spec, tmp_path, capsys):
    rows = evaluated(COUNTED, spec, tmp_path, capsys)
    assert rows["marked"].startswith(f"{MARK}: 3 of 3 held-out episodes")
    assert float(rows["return"].split(",")[0]) < 11


def evaluated(source, spec, folder, capsys):
    """What ``promptpo eval`` prints, by its labels."""
    path = folder / "policy.py"
    path.write_text(source)
    assert main(["eval", str(path), "--spec", spec, "--episodes", "5", "--workers", "1"]) == 0
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "after"), [("marked", "rollout"), ("late", "proof")])
def test_a_run_killed_around_its_proof_ends_as_if_it_had_not_been(kind, after, request, tmp_path):
    whole, _ = request.getfixturevalue(kind)
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    proven = next(i for i, x in enumerate(lines) if MARK in x)
    (folder / "events.jsonl").write_text("".join(lines[: proven + (after == "proof")]))
    for file in folder.glob("candidates/*/*.npz"):
        file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        if kind == "late":
            patch.setitem(proof.MOST, "search", 0)
        result = promptpo.optimize(resume=folder)
    assert (result.test, result.proof) == (whole.test, whole.proof)
    assert told(folder) == told(whole.folder)


@pytest.mark.slow
def test_an_extended_run_tells_the_model_what_held_out_episodes_found(late, tmp_path):
    folder = shutil.copytree(late[0].folder, tmp_path / "run")
    extended = promptpo.optimize(resume=folder, rounds=2)
    assert extended.rounds[0].winner.mark == MARK
    assert extended.rounds[0].winner.score.mean_return < 11
    prompt = (folder / "prompts/r02_c01_policy.prompt.md").read_text()
    assert f"each episode alone ({MARK})" in prompt
    before = told(folder)
    assert promptpo.optimize(resume=folder) == extended
    assert told(folder) == before


def told(folder):
    """The events that count, without their times."""
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    kinds = ("rollout", "proof", "candidate", "round", "selection", "finished")
    return sorted(json.dumps(e | {"time": 0}) for e in events if e["type"] in kinds)
