"""Films of a real run of CartPole: the right episodes, the right pictures, the right warnings."""

import json
import os
import shutil
import time

import numpy as np
import pytest
import scripted
from PIL import Image
from video_player import Clip

from promptpo.errors import PromptPOError, RunError, SpecError, UsageError
from promptpo.report.page import render_report
from promptpo.store.run import load_run
from promptpo.types import Episode
from promptpo.video import (
    Options,
    Watcher,
    add_strip,
    parse_episodes,
    render,
    render_policy,
    render_run,
)
from promptpo.video.render import pick

CARTPOLE = {"spec": "cartpole", "test_episodes": 3, "workers": 1}

#: Raises in its twelfth step.
BREAKS = scripted.policy(
    "self.steps += 1; return 1 // (self.steps < 12) * (obs.pole_angle > 0)", "self.steps = 0"
)
#: Lets the pole fall in each episode but the third one.
LEARNS = """
class Policy:
    def __init__(self):
        self.episodes = 0

    def reset(self):
        self.episodes += 1

    def act(self, obs):
        if self.episodes % 3 != 2:
            return 0
        return int(obs.pole_angle > 0)
"""


class Notes(Watcher):
    def __init__(self):
        self.warnings, self.played, self.labels, self.steps, self.files = [], 0, {}, {}, []

    def scoring(self, episodes):
        self.played = episodes

    def filming(self, labels):
        self.labels = dict(labels)

    def step(self, label, steps):
        self.steps.setdefault(label, []).append(steps)

    def done(self, label, files):
        self.files += files

    def warning(self, line):
        self.warnings.append(line)


EPISODES = [Episode(seed, total, 10) for seed, total in enumerate([5.0, 1.0, 9.0, 7.0, 3.0])]
ALL = ("best", "median", "worst")


def seeds(chosen):
    return {label: e.seed for label, e in chosen.items()}


def test_episodes_are_chosen_by_name_or_number_and_none_twice():
    assert seeds(pick(EPISODES, ALL)) == {"best": 2, "median": 0, "worst": 1}
    episodes = [Episode(0, 9.0, 5, False), Episode(1, 1.0, 5, True), Episode(2, 8.0, 5, False)]
    assert seeds(pick(episodes, ALL)) == {"best": 1, "median": 0, "worst": 2}
    failed = Episode(9, 99.0, 0, error="ZeroDivisionError")
    assert seeds(pick([*EPISODES, failed], ("worst",))) == {"worst": 9}
    equal = [Episode(seed, 500.0, 500) for seed in range(4)]
    assert len(set(seeds(pick(equal, ALL)).values())) == 3
    assert list(pick(EPISODES[:1], ALL)) == ["best"]
    assert list(pick(EPISODES[:2], ALL)) == ["best", "median"]
    assert seeds(pick(EPISODES, parse_episodes("2"))) == {"episode1": 0, "episode2": 1}
    assert parse_episodes("worst, best,worst") == ("worst", "best")
    for words in ("beste", "", "best,", "0", "-1", "best,3"):
        with pytest.raises(UsageError, match=r"--episodes: .* is neither one of best, median"):
            Options(episodes=parse_episodes(words))


@pytest.fixture
def copied(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def record_of(folder):
    return json.loads((folder / "run.json").read_text())["test"]


def policy_file(folder, source):
    path = folder / "policy.py"
    path.write_text(source)
    return path


@pytest.mark.slow
def test_the_films_are_of_the_best_median_and_worst_episode_as_they_were_scored(copied):
    notes = Notes()
    files = render_run(copied, Options(formats=("mp4", "gif")), watcher=notes)
    assert (notes.warnings, notes.played) == ([], 0)
    episodes = record_of(copied)["episodes"]
    ranked = sorted(((e["return"], e["seed"]) for e in episodes), reverse=True)
    assert ranked[0][0] > ranked[-1][0]
    names = [f.name.partition("_seed")[0] for f in files]
    assert names == [*["best"] * 2, *["median"] * 2, *["worst"] * 2]
    assert [f.suffix for f in files] == [".mp4", ".gif"] * 3
    assert all(f.parent == copied / "videos" for f in files)
    by_seed = {e["seed"]: e for e in episodes}
    chosen = [by_seed[int(f.stem.partition("_seed")[2])] for f in files[::2]]
    assert [e["return"] for e in chosen] == [ranked[0][0], ranked[4][0], ranked[-1][0]]
    for label, episode in zip(names[::2], chosen, strict=True):
        assert notes.labels[label] == episode["length"]
        assert notes.steps[label] == list(range(1, episode["length"] + 1))
    with Image.open(files[1]) as gif:
        assert (gif.format, gif.n_frames > 1) == ("GIF", True)
    clip = Clip(files[0])
    assert (clip.width, clip.height) == (600, 470)
    # CartPole goes at 50 steps a second; every second one is a picture; the last one is held.
    steps = notes.labels["best"]
    assert clip.duration == pytest.approx((steps + 1) // 2 / 25 + 1.0, abs=0.05)
    first, later = clip.picture(0.02), clip.picture(clip.duration / 2)
    assert (first[:390] > 240).mean() > 0.9
    strips = first[402:].astype(int), later[402:].astype(int)
    assert max(np.median(strip) for strip in strips) < 40
    assert (np.abs(strips[0] - strips[1]).max(axis=2) > 100).sum() > 50


@pytest.mark.slow
def test_a_strip_shows_moments_of_the_median_episode_until_the_run_goes_on(copied, monkeypatch):
    strip = copied / "videos" / "strip.jpg"
    monkeypatch.setattr(render, "_STRIP_SECONDS", 0.0)
    assert not add_strip(copied)
    assert not strip.exists()
    monkeypatch.undo()
    assert add_strip(copied)
    with Image.open(strip) as picture:
        assert (picture.format, picture.size) == ("JPEG", (6 * 220, 147))
        shown = np.asarray(picture).astype(int)
    first, last = shown[:, :220], shown[:, -220:]
    assert (np.abs(first - last) > 100).any(), "the cart has moved"
    assert [f.name for f in strip.parent.iterdir()] == ["strip.jpg"]
    assert "data:image/jpeg" in render_report(load_run(copied))
    assert not add_strip(copied)
    os.utime(copied / "events.jsonl", (time.time() + 9,) * 2)
    assert add_strip(copied)
    change_log(copied, lambda event: None if event.get("stream") == "test" else event)
    assert not add_strip(copied)
    assert not strip.exists(), "it was of episodes that are gone"


def change_log(folder, change):
    """Write the events of a run again, each as ``change`` returns it; None: it is left out."""
    log = folder / "events.jsonl"
    events = map(change, map(json.loads, log.read_text().splitlines()))
    log.write_text("".join(json.dumps(event) + "\n" for event in events if event is not None))


@pytest.mark.slow
def test_a_return_that_differs_from_the_record_is_warned_of(copied):
    def change(event):
        if event.get("stream") == "test":
            for episode in event["episodes"]:
                episode["return"] += 1.0
        return event

    change_log(copied, change)
    notes = Notes()
    render_run(copied, Options(episodes=("worst",)), watcher=notes)
    (line,) = notes.warnings
    assert line.startswith("worst, seed ")
    assert "but it was scored" in line


@pytest.mark.slow
def test_a_run_without_held_out_scores_or_with_other_settings_is_scored_first(copied, tmp_path):
    files = render_run(copied, Options(episodes=2), to=tmp_path / "new")
    seeds = record_of(copied)["seeds"][:2]
    assert [f.name for f in files] == [f"episode{n}_seed{s}.mp4" for n, s in enumerate(seeds, 1)]
    change_log(copied, lambda e: None if "test" in (e["type"], e.get("stream")) else e)
    for settings, episodes in (({}, 9), ({"seed": 7, "test_episodes": 2}, 2)):
        notes = Notes()
        assert render_run(copied, Options(episodes=("worst",)), settings=settings, watcher=notes)
        assert (notes.played, notes.warnings) == (episodes, [])


@pytest.mark.slow
def test_a_policy_that_fails_in_the_middle_is_filmed_until_then(tmp_path):
    path = policy_file(tmp_path, BREAKS)
    notes = Notes()
    (file,) = render_policy(
        path, Options(episodes=("worst",)), settings=CARTPOLE, watcher=notes, to=tmp_path
    )
    (line,) = notes.warnings
    assert "the policy failed at step 11: ZeroDivisionError" in line
    clip = Clip(file)
    caption = clip.picture(clip.duration - 0.1)[402:].astype(int)
    reddish = (caption[..., 0] - caption[..., 2] > 60).sum()
    assert reddish > 50


@pytest.mark.slow
def test_a_policy_that_does_not_start_is_one_error(tmp_path):
    path = policy_file(tmp_path, "import os\n\n\nclass Policy:\n    pass\n")
    with pytest.raises(PromptPOError, match=r"the policy failed: .*os"):
        render_policy(path, settings=CARTPOLE)
    assert not list((tmp_path / "videos").iterdir())


@pytest.mark.slow
def test_a_policy_file_is_scored_and_every_step_shown_at_the_rate_asked_for(tmp_path):
    """One object plays all episodes, from the first one on."""
    path = policy_file(tmp_path, LEARNS)
    notes = Notes()
    options = Options(episodes=("best",), fps=25.0, size=(320, 240))
    settings = {**CARTPOLE, "policy_lifetime": "evaluation"}
    (file,) = render_policy(path, options, settings=settings, watcher=notes)
    assert (notes.played > 0, notes.warnings) == (True, [])
    assert file.parent == tmp_path / "videos"
    assert notes.labels["best"] > 20
    clip = Clip(file)
    assert clip.duration == pytest.approx(notes.labels["best"] / 25 + 1.0, abs=0.05)
    assert clip.width == 320


def test_what_cannot_be_filmed_is_one_line(copied, tmp_path):
    with pytest.raises(RunError, match="not a run"):
        render_run(tmp_path)
    with pytest.raises(UsageError, match="give --test-episodes at least 1"):
        render_run(copied, to=tmp_path, settings={"test_episodes": 0})
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="give --to a folder that can be written"):
        render_run(copied, to=tmp_path / "file" / "videos")
    (copied / "best" / "policy.py").unlink()
    with pytest.raises(RunError, match="no best policy in it yet"):
        render_run(copied)
    with pytest.raises(UsageError, match="give the task that it is for with --spec"):
        render_policy(policy_file(tmp_path, scripted.BAD), settings={})


def test_an_environment_that_draws_nothing_is_one_line(tmp_path):
    path, notes = policy_file(tmp_path, scripted.BAD), Notes()
    for episodes in (1, ("best",)):
        with pytest.raises(
            SpecError, match=r"pandemic.py: the environment draws nothing; `promptpo"
        ):
            options = Options(episodes=episodes)
            render_policy(path, options, settings={**CARTPOLE, "spec": "pandemic"}, watcher=notes)
    assert notes.played == 0
