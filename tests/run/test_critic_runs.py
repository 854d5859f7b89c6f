"""Runs with a critic, against a server that answers in its format."""

import pytest
from llm_server import Answer, ScriptedServer
from scripted import BAD, FEEDBACK, GOOD, data_of, fenced, run_small

import promptpo
from promptpo.store.reading import read_record

#: A policy for each spec, and the line of it that the critic takes for another.
SPECS = {
    "cartpole": (BAD, "        return 0", GOOD[GOOD.index("        lean") :].rstrip()),
    "noise_world_board_1": (
        "class Policy:\n    def act(self, obs):\n        return 0\n",
        "        return 0",
        "        return 1",
    ),
    "mountain_car_continuous": (
        "class Policy:\n    def act(self, obs):\n        return [0.0]\n",
        "        return [0.0]",
        "        return [1.0 if obs.velocity > 0 else -1.0]",
    ),
}


def edit(search, instead):
    return f"It drifts.\n\n<<<<<<< SEARCH\n{search}\n=======\n{instead}\n>>>>>>> REPLACE\n"


def script_of(spec):
    """A server's answers; the first reply of the critic in a round has no edit."""
    source, line, better = SPECS[spec]

    def answer(request):
        if "critic1" in request.call:
            return Answer(edit(line, better))
        if "critic" in request.call:
            return Answer("Push the other way.")
        if "feedback" in request.call:
            return Answer(fenced(FEEDBACK.replace("last.pole_angle", "1.0")))
        if "reflection" in request.call:
            return Answer("It fell.")
        return Answer(fenced(source))

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("spec", list(SPECS))
def test_a_critic_revises_the_winner_of_each_round(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with ScriptedServer(script_of(spec)) as server:
        settings = {"model": "openai/scripted", "api_base": server.url, "critic": "winner"}
        result, events = run_small(
            tmp_path, spec, rounds=1, candidates=1, max_repairs=1, probe=0, target=10**6,
            policy_seed=1, selection_episodes=0, test_episodes=1, **settings,
        )  # fmt: skip
    asked = [request.call for request in server.requests]
    assert asked == ["r00_feedback", "r01_c01_policy", "r01_c02_critic", "r01_c02_critic1"]
    written, revised = result.rounds[0].candidates
    assert (revised.kind, revised.parents, revised.error) == ("revision", ("r01_c01",), None)
    assert revised.rollout.seeds == written.rollout.seeds
    assert SPECS[spec][2] in revised.source
    assert read_record(result.folder).trials["r01_c02"].candidate.kind == "revision"
    searched = [
        r["key"]["candidate"] for r in data_of(events, "rollout") if r["stream"] == "search"
    ]
    assert searched == [1, 2]


@pytest.mark.slow
def test_a_run_that_is_cut_off_anywhere_ends_the_same(tmp_path, monkeypatch):
    """Also where a limit of steps lets a round have fewer candidates than were asked for."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with ScriptedServer(script_of("cartpole")) as server:
        result, _ = run_small(
            tmp_path, rounds=1, candidates=3, max_repairs=1, probe=0, policy_seed=1,
            selection_episodes=0, model="openai/scripted", api_base=server.url,
            critic="winner", max_env_steps=3100,
        )  # fmt: skip
        names = [c.name for c in result.rounds[0].candidates]
        assert names == ["r01_c01", "r01_c02", "r01_c04"]
        log = (result.folder / "events.jsonl").read_text().splitlines(keepends=True)
        for place in range(3, len(log), 9):
            (result.folder / "events.jsonl").write_text("".join(log[:place]))
            again = promptpo.optimize(resume=result.folder)
            assert again.rounds == result.rounds, place
            assert again.best.name == result.best.name
