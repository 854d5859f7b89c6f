"""Which policies of a round are tuned, how the steps are shared, and what becomes of them."""

import asyncio

import pytest
from fake_services import FakeServices, plays

from promptpo.methods.tuning import TuningStage
from promptpo.policies import Program
from promptpo.types import Candidate, Key


def source(return_, tunes=0.0, note=""):
    text = plays(return_, note)
    return f"GAIN = tunable(1.0, 0.0, 4.0)\nGAIN2 = GAIN * 2\n{text}    # tunes {tunes}\n"


class Stage:
    """A stage over candidates that have played."""

    def __init__(self, *sources, number=1, **settings):
        self.services = FakeServices(tune=True, **{"tune_steps": 10_000, **settings})
        self.stage = TuningStage(self.services)
        self.candidates = [self.played(number, i, s) for i, s in enumerate(sources, 1)]

    def played(self, number, index, text):
        plain = self.stage.plain(Candidate(Key(number, index), text))
        program = Program.of(plain.source)
        [run] = asyncio.run(self.services.play(program, (0, 1), keys=[plain.key]))
        return Candidate(plain.key, plain.source, run, plain.error)

    def tune(self, number=1, best=None, **how):
        return asyncio.run(self.stage.tune(number, self.candidates, best, **how))

    @property
    def steps(self):
        return {t.of.name: t.steps for t in self.services.tunings}


def test_the_promising_get_a_little_and_the_best_of_them_more():
    """Four begin, two go on, one has the rest: by what tuning made of them."""
    sources = [source(r, tunes=t) for r, t in ((5, 1), (4, 9), (3, 2), (2, 8), (1, 99))]
    stage = Stage(*sources, tune_steps=12_000)
    stage.tune()
    assert stage.steps == {
        "r01_c01": 1000, "r01_c02": 1000 + 2000 + 4000, "r01_c03": 1000, "r01_c04": 3000,
    }  # fmt: skip


def test_what_is_found_is_a_new_candidate_whose_constants_keep_their_ranges():
    stage = Stage(source(1, tunes=5))
    (made,) = stage.tune()
    assert (made.key, made.kind, made.parents) == (Key(1, 2), "tuned", ("r01_c01",))
    assert made.source.startswith("GAIN = 4.0  # was 1\n")
    assert made.rollout is None
    (constant,) = stage.stage.tunable(made.source).constants
    assert (constant.value, constant.low, constant.high, constant.declared) == (4.0, 0, 4, True)
    assert "r01_c02 has them" in stage.stage.words[0] or "r01_c01" in stage.stage.words[0]


def test_a_share_of_what_is_left_is_spent_or_all_where_only_that_gets_anywhere():
    stage = Stage(source(1, tunes=1))
    stage.tune(share=0.25)
    assert stage.services.tuned == 2500
    stage.tune(share=1.0)
    assert stage.services.tuned == 10_000
    assert len(stage.services.tunings) == 1, "it was taken up again"

    stage = Stage(source(1, tunes=1), tune_steps=150)  # 80 are needed
    stage.tune(share=0.5)
    assert stage.services.tuned == 150

    stage = Stage(source(1, tunes=1), tune_steps=50)
    assert stage.tune() == []
    assert "too few" in stage.services.reported[-1][1]["text"]
    assert stage.tune(least=1)


def test_the_best_so_far_is_tuned_beside_the_round_s_own_and_equal_texts_once():
    stage = Stage(source(1, tunes=1), number=2)
    best = stage.played(1, 3, source(9, tunes=2, note="best"))
    stage.tune(2, best)
    assert set(stage.steps) == {"r01_c03", "r02_c01"}

    stage = Stage(source(1, tunes=1), source(1, tunes=1))
    stage.tune()
    assert list(stage.steps) == ["r01_c01"]

    stage = Stage(source(1, tunes=0))
    assert stage.tune() == []
    assert "nothing was better" in stage.stage.words[0]


@pytest.mark.parametrize(
    "text", [plays(5), "class Policy:\n    # fails: it raised\n", source(1).replace("1.0", "9.0")]
)
def test_what_has_no_constants_or_failed_is_not_tuned(text):
    stage = Stage(source(1, tunes=1))
    stage.candidates.append(Candidate(Key(1, 2), text, error="refused"))
    stage.tune()
    assert set(stage.steps) == {"r01_c01"}


def test_declarations_stay_without_tune_and_are_refused_as_errors_to_be_repaired():
    stage = Stage()
    refused = stage.stage.plain(Candidate(Key(1, 1), source(1).replace("1.0,", "9.0,")))
    assert "line 1" in refused.error
    assert stage.stage.refuses(refused)
    assert not stage.stage.refuses(Candidate(Key(1, 1), source(1)))
    odd = Candidate(Key(1, 1), f"GAIN = {'-' * 50_000}1\n{plays(1)}")
    assert stage.stage.plain(odd) == odd  # it declares nothing, and is played and not tuned
    assert stage.stage.tunable(odd.source).constants == ()
    untuned = TuningStage(FakeServices())
    candidate = Candidate(Key(1, 1), source(1))
    assert untuned.plain(candidate) is candidate


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        (f"tunable(0x{'f' * 400}, 0, 1)", "from -1e+100 to 1e+100"),
        ("tunable(1.0, -1e999, 1e999)", "from -1e+100 to 1e+100"),
        (f"tunable(1.0, 0, 2), {'-' * 50_000}1", "constants cannot be found: it nests"),
    ],
)
def test_whatever_a_declaration_is_costs_its_candidate_alone(declared, why):
    stage = Stage()
    found = stage.stage.plain(Candidate(Key(1, 1), f"GAIN = {declared}\n{plays(1)}"))
    assert why in found.error
    assert stage.stage.refuses(found)
