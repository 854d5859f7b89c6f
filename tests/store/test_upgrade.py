"""A run of format 1, as version 0.1.0 wrote it, is read as if it were of today."""

import json
import random
import shutil
from pathlib import Path

import pytest

from promptpo.store.events import Event, read_log
from promptpo.store.folder import RunFolder
from promptpo.store.reading import read_record
from promptpo.store.record import Record
from promptpo.store.shapes import is_event
from promptpo.store.upgrade import Upgrade, format_of, with_settings_unknown_then
from promptpo.types import Key

DATA = Path(__file__).parents[1] / "data" / "format_1"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DATA, tmp_path / "counted_cartpole" / "20261122-072244")


def lines_of(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def write(folder, lines):
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def without(folder, *kinds):
    """The run again without the events of these types."""
    write(folder, [line for line in lines_of(folder) if line["type"] not in kinds])
    return read_record(folder)


def test_every_line_is_an_event_of_today(folder):
    found = read_log(folder / "events.jsonl")
    assert (found.format, found.damaged, found.cut) == (1, {}, b"")
    assert all(is_event({"type": e.type, **e.data}) for e in found.events)
    assert found.numbers == list(range(1, len(lines_of(folder)) + 1))


def test_candidates_have_their_rollouts_and_scores(folder):
    record = read_record(folder)
    found = {t.name: (t.state, t.repairs, t.score.mean_return) for t in record.trials.values()}
    assert found == {
        "r01_c01": ("scored", 0, 9.5),
        "r01_c02": ("scored", 0, 147.5),
        "r01_c03": ("scored", 1, 9.5),
        "r02_c01": ("failed", 0, float("-inf")),
        "r02_c02": ("scored", 0, 500.0),
        "r02_c03": ("scored", 0, 9.0),
    }
    assert [e.length for e in record.trials["r01_c02"].candidate.rollout.episodes] == [144, 151]
    assert sorted(record.trials["r01_c03"].attempts) == [0, 1]


def test_a_candidate_that_was_found_out_has_the_score_that_it_got_alone(folder):
    record = read_record(folder)
    trial = record.trials["r01_c01"]
    assert (trial.score.mean_return, trial.at_steps) == (9.5, 842)
    assert record.played_by[trial.digest].name == record.folder_of(trial) == "r01_c01"


def test_a_reflection_opens_the_round_that_it_was_written_for(folder):
    first, second = read_record(folder).rounds
    assert first.calls == ()
    assert [call.key for call in second.calls] == [Key(2, role="reflection")]


def test_reflection_and_feedback_are_notes_of_their_round(folder):
    first, second = read_record(folder).rounds
    assert [n.title for n in first.notes] == ["Episode 1", "Episode 2"]
    titles = [(n.title, n.text) for n in second.notes]
    assert titles[0] == ("Reflection before it", "It got better.")
    assert titles[2] == ("Episode 2", "500 steps, return 500, last 0.00")


def test_the_held_out_episodes_and_the_end_are_there(folder):
    record = read_record(folder)
    assert (record.status, record.reason) == ("finished", "all rounds are done")
    assert (record.best, record.held_out.returns) == ("r02_c02", (500.0, 500.0, 500.0))
    assert record.tested == (record.best_trial.candidate, record.held_out)
    assert record.usage.steps == {"search": 1860, "tuning": 0, "selection": 1296, "test": 1500}


def test_a_test_whose_rollout_is_lost_tells_it_itself(folder):
    lines = [x for x in lines_of(folder) if x.get("stream") != "test" or x["type"] == "test"]
    write(folder, lines)
    record = read_record(folder)
    assert record.held_out.returns == (500.0, 500.0, 500.0)
    assert record.usage.steps["test"] == 1500


def test_a_log_from_before_there_was_a_test_event_has_its_held_out_episodes(folder):
    record = without(folder, "test")
    assert (record.best, record.held_out.returns) == ("r02_c02", (500.0, 500.0, 500.0))


def test_a_log_from_before_there_were_marks_and_proofs(folder):
    lines = [x for x in lines_of(folder) if x["type"] != "proof" and not x.get("mark")]
    write(folder, [{k: v for k, v in line.items() if k != "mark"} for line in lines])
    record = read_record(folder)
    assert record.best == "r02_c02"
    assert record.trials["r01_c02"].score.mean_return == 147.5


def test_a_log_whose_first_line_is_lost_is_known_by_the_others(folder):
    record = without(folder, "run")
    assert record.format == 1
    assert (record.spec, record.settings["max_repairs"]) == ("counted_cartpole", 1)
    assert record.trials["r02_c02"].score.mean_return == 500


def test_what_run_json_says_of_the_test_is_read_too(folder):
    test = RunFolder(folder).read_info()["test"]
    assert [e["return"] for e in test["episodes"]] == [500.0, 500.0, 500.0]


@pytest.mark.parametrize(
    ("lines", "format_"),
    [
        ([], 2),
        ([None, 7, "x", {"type": 3}, {"type": "run"}], 1),
        ([{"type": "run", "format": 2}], 2),
        ([{"type": "run", "format": 9}], 9),
        ([{"type": "prompt"}, {"type": "rollout", "index": 1}], 1),
        ([{"type": "prompt"}, {"type": "rollout", "digest": "x"}], 2),
        ([{"type": "round", "reflection": ""}], 1),
        ([{"type": "round", "notes": []}], 2),
        ([{"type": "notice"}], 2),
    ],
)
def test_the_format_is_that_of_the_first_event_or_what_the_others_look_like(lines, format_):
    assert format_of(lines) == format_


@pytest.mark.parametrize(
    "line",
    [
        None,
        [],
        {"type": ["rollout"]},
        {"type": "rollout"},
        {"type": "rollout", "round": 1, "index": 1, "attempt": 0, "returns": "x"},
        {"type": "prompt", "key": {"role": "reflection", "round": -1}},
        {"type": "prompt", "key": {"role": 3}},
        {"type": "candidate", "round": "1"},
        {"type": "round", "round": 1, "winner": "r01_c01", "reflection": ["x"]},
        {"type": "test", "name": "x"},
    ],
)
def test_what_fits_no_shape_is_no_event(line):
    assert Upgrade().lines(line) == []


def test_values_changed_at_random_raise_nothing(folder):
    rng = random.Random(0)
    values = [None, -1, 2, 1e400, "r01", [], {}, [None], [["x"]], True]
    whole = lines_of(folder)
    for _ in range(40):
        upgrade, record = Upgrade(), Record()
        for line in json.loads(json.dumps(whole)):
            if rng.random() < 0.1:
                line[rng.choice([*line])] = rng.choice(values)
            for data in upgrade.lines(line):
                assert is_event(data)
                record.apply(Event(data.pop("type"), data, data.pop("time", 0.0)))
        assert [r.number for r in record.rounds] == sorted(r.number for r in record.rounds)


def test_a_run_that_knew_nothing_of_prepare_goes_on_without_it():
    assert with_settings_unknown_then({"early_stop": True}) == {
        "early_stop": True,
        "prepare_time": 0,
    }
    assert with_settings_unknown_then({"early_stop": True, "prepare_time": 5.0}) == {
        "early_stop": True,
        "prepare_time": 5.0,
    }
