"""Suites as TOML files: what ships can be read, and mistakes are told with file and line."""

from pathlib import Path

import pytest

from promptpo.errors import PromptPOError, UsageError
from promptpo.matrix.suite import load_suite, published, scale_of, shipped_suites
from promptpo.spec import load_spec, shipped_specs

SUITE = """\
name = "mine"
title = "two of mine"
specs = ["cartpole", "noise_world_board_[12]"]
seeds = "0..1"
published = ["r2po-best"]

[budget]
steps = 1000
cost = 2.5

[settings]
test-episodes = 10
scale = 2.0

[[methods]]
label = "random"
method = "random-search"
seeds = [7]
specs = ["cartpole"]

[[methods]]
label = "replayed"
model = "recorded"
"""


@pytest.fixture
def written(tmp_path):
    def write(old="", new=""):
        assert old in SUITE
        path = tmp_path / "mine.toml"
        path.write_text(SUITE.replace(old, new, 1))
        return str(path)

    return write


def test_a_suite_is_what_its_file_says(written):
    suite = load_suite(written())
    assert suite.specs == ("cartpole", "noise_world_board_1", "noise_world_board_2")
    assert suite.seeds == (0, 1)
    assert suite.budget == {"max_env_steps": 1000, "max_cost": 2.5}
    random, replayed = suite.entrants
    assert (random.specs, random.seeds) == (("cartpole",), (7,))
    assert random.settings["scale"] == 2.0
    assert random.settings["test_episodes"] == 10
    assert "scale" not in replayed.settings  # no option of its method
    # The budget ends every run but one that replays.
    assert (random.settings["patience"], random.settings["rounds"]) == (0, 1000)
    assert "rounds" not in replayed.settings

    scales = suite.scales
    assert (scales["cartpole"].random, scales["cartpole"].best) == (22.8, 500.0)
    assert scales["noise_world_board_1"].measure == "success"
    assert scale_of(load_spec("mujoco_hopper")).best == 3091
    assert {row.spec for row in suite.published} == {"cartpole"}
    assert {row.method for row in suite.published} == {"ProPS", "ProPS+", "deep RL", "R2PO"}
    for row in suite.published:
        assert (row.source, row.measure) == ("arXiv 2605.08315", "return")


def test_a_setting_of_all_is_not_for_a_method_that_decides_it_by_itself(written):
    path = Path(written("scale = 2.0", "scale = 2.0\ncandidates = 3"))
    text = f'{path.read_text()}\n[[methods]]\nmethod = "r2po"\n'
    path.write_text(text)
    random, _, r2po = load_suite(str(path)).entrants
    assert random.settings["candidates"] == 3
    assert "candidates" not in r2po.settings

    path.write_text(f"{text}candidates = 3\n")
    with pytest.raises(UsageError, match="r2po: "):
        load_suite(str(path))


def test_a_mistake_is_told_in_one_line(written):
    for old, new, message in [
        ('seeds = "0..1"', "seeds = 3", "mine.toml:4: seeds are a list"),
        ("steps = 1000", "step = 1000", "mine.toml:8: unknown budget 'step'; did you mean 'steps'"),
        ("steps = 1000", "steps = -1", "mine.toml:8: max_env_steps must be at least 1"),
        ("steps = 1000\ncost = 2.5", "", "no budget; below [budget] give one or more of steps"),
        ('"cartpole", "noise', '"cartpol", "noise', "mine.toml:3: cartpol: no such"),
        ('specs = ["cartpole", "noise_world_board_[12]"]', "specs = []", "name no spec"),
        ("scale = 2.0", "sclae = 2.0", "mine.toml:13: unknown setting 'sclae'"),
        ("random-search", "random-serach", "mine.toml:17: unknown method"),
        ('label = "replayed"', 'label = "random"', "two methods have the label 'random'"),
        ('label = "replayed"', 'label = "a/b"', "mine.toml:22: a label is a folder, too"),
        ("seeds = [7]", "seed = 7", "mine.toml:18: seed is not for a method"),
        ("seeds = [7]", "rounds = 0", "mine.toml:18: rounds must be at least 1"),
        ("r2po-best", "r2po-bset", "published table 'r2po-bset'; did you mean 'r2po-best'"),
        ("title", "titel", "mine.toml:2: unknown key 'titel'; did you mean 'title'"),
        ('name = "mine"', 'name = "../mine"', "mine.toml:1: name becomes a folder"),
        ('[[methods]]\nlabel = "replayed"', "[[methods]", "not valid TOML"),
    ]:
        with pytest.raises(PromptPOError) as error:
            load_suite(written(old, new))
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_the_suites_that_ship_and_published_numbers():
    assert {"core16", "metaworld50", "promptpo23", "r2po10", "smoke"} <= shipped_suites().keys()
    assert len(load_suite("r2po10").specs) == 10
    assert len(load_suite("promptpo23").specs) == 23
    core = load_suite("core16")
    assert len(core.specs) + len(core.absent) == 16
    assert {row.spec for row in core.published} == set(core.specs)
    for entrant in core.entrants:
        settings = entrant.settings
        assert settings["rounds"] * settings["candidates"] * settings["episodes"] == 128
    tables = ["r2po-best", "r2po-mean", "r2po-ablations", "r2po-random", "props", "promptpo",
              "promptpo-success"]  # fmt: skip
    assert len({row.spec for name in tables for row in published([name], shipped_specs())}) == 27
    for name, message in (("smok", "unknown suite 'smok'; did you mean"), ("none.toml", "No such")):
        with pytest.raises(UsageError, match=message):
            load_suite(name)


@pytest.mark.slow
def test_all_tasks_of_meta_world_are_in_its_suite():
    suite = load_suite("metaworld50")
    assert len(suite.specs) == 50
    assert {scale.measure for scale in suite.scales.values()} == {"success"}
