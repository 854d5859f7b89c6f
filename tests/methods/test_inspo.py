"""INSPO against services that a test has written."""

import pytest
from fake_services import FEEDBACK, FakeServices, fails, fenced, plays

from promptpo.errors import LimitReached
from promptpo.methods.inspo import Inspo
from promptpo.prompts import inspo as prompts
from promptpo.prompts.history import Memory
from promptpo.run.settings import build
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key, MethodTable, Round

LIMIT = LimitReached("the limit of 7 model calls is reached")
FIRST = prompts.first_instructions()


def proposal(*texts):
    return "They fall.\n\n" + "\n\n".join(f"```instruction\n{text}\n```" for text in texts)


def services(*rounds, **settings):
    """Services for rounds of policies; the reflection before round n proposes "Way n."."""
    replies = {Key(role="feedback"): fenced(FEEDBACK)}
    for number, sources in enumerate(rounds, 1):
        replies[Key(number, role="reflection")] = proposal(f"Way {number}.")
        for index, source in enumerate(sources, 1):
            replies[Key(number, index, role="policy")] = fenced(source)
    small = {"rounds": len(rounds), "candidates": max(map(len, rounds)), "max_repairs": 0}
    return FakeServices("inspo", replies, **{**small, "probe": 0, **settings})


def tables(fake, title):
    """Return the rows of a table as dicts, round by round."""
    facts = [f for f in fake.recorded if isinstance(f, MethodTable) and f.title == title]
    return [[dict(zip(f.columns, row, strict=True)) for row in f.rows] for f in facts]


def instructions(fake):
    return tables(fake, "Instructions")


def draws(fake):
    return tables(fake, "Policies by instruction")


def changes(fake):
    return [row["Changes"] for (row,) in tables(fake, "Weights of instructions")]


def test_every_candidate_is_told_the_instruction_that_it_drew():
    fake = services([plays(1), plays(2), plays(3)])
    fake.search()
    texts = {row["Instruction"]: row["Text"] for row in instructions(fake)[0]}
    assert sorted(texts.values()) == sorted(FIRST)
    for draw in draws(fake)[0]:
        prompt = fake.prompt(1, int(draw["Policy"][-2:]), role="policy")
        assert f"> {texts[draw['Instruction']]}\n" in prompt
        assert draw["Drawn with"] == pytest.approx(1 / len(FIRST))
    assert [draw["Standing"] for draw in draws(fake)[0]] == [-1.0, 0.0, 1.0]


def test_a_reflection_is_shown_failures_and_its_instruction_is_on_trial_or_rejected():
    fake = services([plays(1), fails("it divides by nothing")], [plays(3), plays(4)])
    fake.search()
    shown = fake.prompt(2, role="reflection")
    replayed = shown[shown.index("## Episodes to learn from") :]
    assert replayed.index("**r01_c02**, written under") < replayed.index("**r01_c01**")
    assert "Failed: as told above." in replayed
    assert all(text in shown for text in FIRST)
    assert "> Way 2.\n" in fake.prompt(2, 2, role="policy")
    assert "> Way 2.\n" not in fake.prompt(2, 1, role="policy")
    assert draws(fake)[-1][-1]["Drawn with"] is None
    assert ("Way 2.", "active") in [(row["Text"], row["State"]) for row in instructions(fake)[-1]]
    assert changes(fake) == ["", "i06 admitted"]

    fake = services([plays(5), plays(5)], [plays(5), plays(1)], [plays(5), plays(5)])
    fake.search()
    assert [r["Text"] for r in instructions(fake)[1] if r["State"] == "rejected"] == ["Way 2."]
    assert changes(fake)[1] == "i06 rejected"
    assert "rejected (return -4 against the population's mean): Way 2." in (
        fake.prompt(3, role="reflection")
    )


def test_what_the_history_does_not_tell_in_full_is_told_with_the_replay():
    fake = services([plays(1), plays(2)])
    memory = Memory(tuple(fake.search().rounds))
    shown = [
        prompts.Shown("r01_c01", "i01", "Worst episode", "plays 1"),
        prompts.Shown("r00_c09", "i02", "Failed", "x" * 5000),
    ]
    asked = prompts.reflection_messages(fake.spec, fake.config, memory, "", shown)[-1].content
    assert "**r01_c01**, written under i01. Worst episode: as told above." in asked
    assert "**r00_c09**, written under i02. Failed: xxx" in asked
    assert asked.count("x") < 1100


def test_the_best_so_far_plays_every_round_and_its_challengers_are_held_against_it():
    fake = services([plays(5), plays(1)], [plays(3), plays(4)], proposals=0)
    search = fake.search()
    assert fake.guests[2] == (Key(1, 1),)
    assert [draw["Standing"] for draw in draws(fake)[1]] == [-1.0, 0.0]
    best = search.rounds[0].winner
    assert (best.name, len(best.later)) == ("r01_c01", 1)


def test_a_reply_without_an_instruction_is_asked_again_and_then_a_failed_proposal():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)], max_repairs=2)
    fake.replies |= {
        Key(2, role="reflection"): "I know of none.",
        Key(2, 0, 1, "reflection"): proposal("x" * 601),
        Key(2, 0, 2, "reflection"): proposal(FIRST[0]),
    }
    fake.search()
    asked = [str(key) for key in fake.asked if key.role == "reflection"]
    assert asked == ["r02_reflection", "r02_reflection1", "r02_reflection2"]
    again = fake.prompts[Key(2, 0, 1, "reflection")]
    assert [m.role for m in again] == ["system", "user", "assistant", "user"]
    assert "it holds no fenced block with an instruction" in again[-1].content
    assert "has 601 characters" in fake.prompts[Key(2, 0, 2, "reflection")][-1].content
    assert changes(fake)[-1] == "none proposed: what it proposes is known already"
    assert len(instructions(fake)[-1]) == len(FIRST)
    assert all(draw["Drawn with"] is not None for draw in draws(fake)[-1])


def test_a_candidate_that_fails_or_has_no_policy_is_sent_back():
    fake = services([plays(1), fails("why")], max_repairs=2)
    fake.replies[Key(1, 1, role="policy")] = "I would rather not."
    fake.replies[Key(1, 1, 1, "repair")] = fenced(plays(3))
    fake.replies[Key(1, 2, 1, "repair")] = fenced(fails("still"))
    fake.replies[Key(1, 2, 2, "repair")] = fenced(plays(2))
    (round_,) = fake.search().rounds
    assert [(c.key.attempt, c.score.mean_return) for c in round_.candidates] == [(1, 3), (2, 2)]


def test_the_instruction_of_a_candidate_that_a_limit_stopped_is_not_to_blame():
    fake = services([plays(1), plays(2), plays(3)])
    fake.ends[Key(1, 1, role="policy")] = LIMIT
    fake.ends["r01_c02_0"] = LIMIT
    fake.search()
    assert [draw["Standing"] for draw in draws(fake)[0]] == [None, None, 0.0]
    errors = {c.name: c.error for c in fake.candidates()}
    assert errors["r01_c01"] == f"not written: {LIMIT}"
    assert errors["r01_c02"] == f"not played: {LIMIT}"


def test_what_is_recorded_of_a_round_and_in_which_order():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    search = fake.search()
    kinds = [type(fact) for fact in fake.recorded]
    assert kinds[-4:] == [MethodTable, MethodTable, MethodTable, Round]
    assert set(kinds) == {Candidate, MethodTable, Round}
    assert [c.name for c in search.finalists] == ["r01_c02", "r02_c02"]
    assert [n.text for n in search.rounds[1].notes] == ["They fall."]


def test_the_seed_decides_what_is_drawn_and_rounds_do_not_depend_on_each_other():
    def drawn(**settings):
        fake = services([plays(1)] * 6, [plays(2)] * 6, proposals=0, **settings)
        fake.search()
        return [[draw["Instruction"] for draw in rows] for rows in draws(fake)]

    assert drawn() == drawn()
    assert drawn() != drawn(seed=1)
    assert drawn(rounds=1)[0] == drawn()[0]


def test_all_its_prompts_are_shown_and_of_one_candidate_a_round_no_reflection():
    config = build({"method": "inspo"})
    shown = dict(Inspo.all_prompts(load_spec("cartpole"), config))
    assert list(shown) == [
        "feedback", "policy, round 1, by the first instruction", "reflection, after round 1",
        "policy, round 2 and later", "repair of a policy",
    ]  # fmt: skip
    assert FIRST[0] in shown["policy, round 1, by the first instruction"][-1].content
    assert "$" not in shown["reflection, after round 1"][-1].content
    assert all(len(text) <= prompts.LONGEST for text in FIRST)

    fake = services([plays(1)], [plays(2)])
    fake.search()
    assert not [key for key in fake.asked if key.role == "reflection"]
    assert Inspo.forecast(fake.spec, fake.config).calls == 3
