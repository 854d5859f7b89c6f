"""Trackers hold what a run's own folder holds, read back with the trackers' own packages."""

import json
from pathlib import Path

import pytest
from scripted import BAD, GOOD, data_of, replies, run

from promptpo import optimize
from promptpo.errors import UsageError
from promptpo.store.folder import RunFolder
from promptpo.trackers import send

#: The smallest GIF: one white pixel.
PIXEL = bytes.fromhex("47494638376101000100800000ffffff0000002c00000000010001000002024401003b")


def scalars(folder):
    """TensorBoard's scalars by name: lists of (step, value)."""
    accumulator = tensorboard(folder)
    names = accumulator.Tags()["scalars"]
    return {name: [(s.step, s.value) for s in accumulator.Scalars(name)] for name in names}


def tensorboard(folder):
    module = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    accumulator = module.EventAccumulator(str(folder / "tensorboard"))
    accumulator.Reload()
    return accumulator


def mlflow_runs(out):
    tracking = pytest.importorskip("mlflow.tracking")
    client = tracking.MlflowClient((out / "mlruns").resolve().as_uri())
    (experiment,) = (e for e in client.search_experiments() if e.name == "promptpo")
    return client, client.search_runs([experiment.experiment_id])


def history(client, run_, name):
    return [(m.step, m.value) for m in client.get_metric_history(run_.info.run_id, name)]


def expected(events):
    """Mean returns of candidates over the search steps up to them, from the run's own events.

    Each once, and again with every further episode that it played.
    """
    steps, at, points, told = 0, {}, [], set()
    for event in events:
        key = event.data.get("key")
        if event.type == "rollout" and event.data["stream"] == "search":
            steps += event.data["steps"]
            at[key["round"], key["candidate"]] = steps
        elif event.type == "candidate" and event.data["score"]:
            place, later = (key["round"], key["candidate"]), len(event.data["later"])
            if (place, later) not in told:
                told.add((place, later))
                where = steps if later else at.get(place, steps)
                points.append((where, event.data["score"]["mean_return"]))
    return points


def close_to(points):
    return [(step, pytest.approx(value)) for step, value in points]


def test_tensorboard_has_scores_over_environment_steps_costs_and_the_policy(tmp_path):
    result, events = run(tmp_path, replies([BAD, GOOD], [GOOD, BAD]), track="tensorboard")
    found = scalars(result.folder)
    assert found["candidate/mean_return"] == close_to(expected(events))
    total = result.usage.steps["search"]
    assert [value for _, value in found["best/mean_return"]] == [500.0, 500.0]
    assert found["round/number"][-1] == (total, 2.0)
    assert found["test/mean_return"] == [(total, 500.0)]
    assert found["cost/calls"][-1] == (total, float(result.usage.calls))
    assert found["steps/test"][-1] == (total, 1500.0)
    accumulator = tensorboard(result.folder)
    (text,) = accumulator.Tensors("best/policy/text_summary")
    assert "Pushes towards where the pole is falling" in str(text.tensor_proto.string_val[0])
    assert "_hparams_/session_start_info" in accumulator.summary_metadata


@pytest.mark.slow
def test_mlflow_has_the_run_and_a_resumed_one_goes_on_there_and_tells_nothing_twice(tmp_path):
    script = replies([BAD, GOOD], [GOOD, BAD])
    first, events = run(tmp_path, script, rounds=1, track="tensorboard,mlflow")
    client, (before,) = mlflow_runs(tmp_path / "runs")
    assert before.info.run_name == f"cartpole/{first.folder.name}"
    assert (before.data.params["candidates"], before.data.params["spec"]) == ("2", "cartpole")
    assert before.data.metrics["test/mean_return"] == 500.0
    assert history(client, before, "candidate/mean_return") == close_to(expected(events))
    artifacts = {a.path for a in client.list_artifacts(before.info.run_id)}
    assert {"policies", "policy.py", "report.html"} <= artifacts
    (policy,) = client.list_artifacts(before.info.run_id, "policies")
    local = client.download_artifacts(before.info.run_id, policy.path, str(tmp_path))
    assert "Pushes towards where" in Path(local).read_text()
    again = []
    optimize(resume=first.folder, rounds=2, on_event=again.append)
    client, (found,) = mlflow_runs(tmp_path / "runs")
    assert (found.info.run_id, found.info.status) == (before.info.run_id, "FINISHED")
    points = close_to(expected(again))
    assert len(points) == 4 + 4  # each of the candidates, and again with what it played in round 2
    assert scalars(first.folder)["candidate/mean_return"] == points
    assert history(client, found, "candidate/mean_return") == points
    assert [step for step, _ in history(client, found, "round/number")] == sorted(
        {step for step, _ in history(client, found, "best/mean_return")}
    )
    (first.folder / "videos").mkdir(exist_ok=True)
    films = [first.folder / "videos" / name for name in ("best.gif", "best.mp4")]
    for film in films:
        film.write_bytes(PIXEL)
    assert send(RunFolder.open(first.folder), films) == []  # of a run that is over
    (image,) = tensorboard(first.folder).Images("videos/best")
    assert (image.width, image.height) == (1, 1)
    there = {a.path for a in client.list_artifacts(found.info.run_id, "videos")}
    assert there == {"videos/best.gif", "videos/best.mp4"}


@pytest.mark.slow
def test_a_tracker_that_a_resumed_run_starts_is_told_all(tmp_path):
    first, _ = run(tmp_path, replies([BAD, GOOD], [GOOD, BAD]), rounds=1)
    assert not {path.name for path in first.folder.iterdir()} & {"tensorboard", "trackers"}
    again = []
    optimize(resume=first.folder, rounds=2, track="tensorboard", on_event=again.append)
    found = scalars(first.folder)
    assert found["candidate/mean_return"] == close_to(expected(again))
    assert [value for _, value in found["round/number"]] == [1.0, 2.0]


@pytest.mark.slow
def test_a_tracker_that_fails_is_one_warning_and_the_run_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "file:///dev/null/nowhere")
    result, events = run(tmp_path, replies([GOOD], [GOOD]), rounds=1, track="mlflow,tensorboard")
    (warning,) = [d["text"] for d in data_of(events, "notice") if "tracking" in d["text"]]
    assert warning.startswith("tracking by mlflow has stopped, the run goes on without: ")
    assert "\n" not in warning
    assert len(scalars(result.folder)["round/number"]) == 1
    (problem,) = send(RunFolder.open(result.folder), [result.folder / "best" / "policy.py"])
    assert problem.startswith("mlflow did not take the files: ")
    assert "\n" not in problem

    (result.folder / "trackers" / "tensorboard.json").write_text("{")  # cannot be read
    again = []
    assert optimize(resume=result.folder, rounds=2, on_event=again.append).status == "finished"
    assert any("tracking by tensorboard" in data["text"] for data in data_of(again, "notice"))


def test_a_failed_candidate_counts_and_keys_are_remembered_as_plain_json(tmp_path):
    with pytest.raises(UsageError, match="track: 'tensorbord' is not known; did you mean"):
        run(tmp_path, replies([GOOD]), track="mlflow, tensorbord")
    result, _ = run(tmp_path, replies(["no code at all", GOOD]), track="tensorboard")
    assert sorted(value for _, value in scalars(result.folder)["candidate/failed"]) == [0.0, 1.0]
    memory = json.loads((result.folder / "trackers" / "tensorboard.json").read_text())
    assert memory["told"] == ["candidate r01_c01 0", "candidate r01_c02 0", "round 1", "test"]
