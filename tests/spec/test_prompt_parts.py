"""What a model may see of a spec: its own words, its published form, its observation class."""

import ast
import math

import numpy as np
import pytest
from scripted import data_of, replies, run
from walk_spec import TEXT

from promptpo.cli import main
from promptpo.report.overview import settings
from promptpo.spec import (
    field,
    layout,
    load_spec,
    observation_size,
    prompt_parts,
    shipped_specs,
    standalone_source,
)
from promptpo.spec.observation import observation_class
from promptpo.store.run import load_run

POLICY = "class Policy:\n    def act(self, obs):\n        return [1.0]\n"
FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        return "went"
"""


def test_class_and_reward_are_verbatim_and_the_rest_is_withheld(write_spec):
    path = write_spec(("def make():", "SECRET = 'gravity is 3'\n\n\ndef make():"))
    parts, text = prompt_parts(load_spec(path)), path.read_text()
    assert parts.observation in text
    assert parts.observation.startswith("class Observation:")
    assert parts.observation.endswith("return abs(self.position)")
    assert parts.reward in text
    assert parts.reward.startswith("def reward(observation, action, next_observation):")
    assert parts.action == "An array of 1 float in [-1, 1]: the force in N."
    assert parts.horizon == 50
    assert not [word for word in ("SECRET", "def make", "EnvSpec") if word in parts.text]


def test_helpers_of_the_reward_come_before_it(write_spec):
    path = write_spec(
        ("return -next_observation.distance()", "return closeness(next_observation.position)"),
        ("def reward", "def closeness(x):\n    return -abs(x)\n\n\ndef reward"),
        ("reward=reward,", "reward=reward,\n    reward_helpers=(closeness,),"),
    )
    reward = prompt_parts(load_spec(path)).reward
    assert reward.startswith("def closeness(x):\n    return -abs(x)\n\n\ndef reward(")


def test_shipped_specs_describe_every_field_state_references_and_show_nothing_private():
    for name in shipped_specs():
        spec = load_spec(name)
        for form in (spec, load_spec(name, published=True)):
            text = prompt_parts(form).text.lower()
            private = ("gymnasium", "import ", "def make", "def observe", "envspec", *form.withheld)
            assert not [phrase for phrase in private if phrase.lower() in text], name
        assert all(item.field.doc for item in layout(spec.observation)), name
        assert {"random", "zero action"} <= set(spec.reference_scores), name


# --- The observation class ------------------------------------------------------------------------


class Everything:
    """One field of every kind."""

    SCALE = 2.0

    speed: float = field(unit="m/s", low=0.0, high=3.0, doc="forward")
    count: int = field(low=0, high=9)
    touching: bool = field(doc="whether anything touches")
    position: np.ndarray = field(shape=(3,), unit="m", low=(-1.0, 0.0, 0.5), frame="world")
    grid: np.ndarray = field(shape=(2, 2))

    @property
    def doubled(self) -> float:
        """Twice the speed."""
        return self.SCALE * self.speed

    def norm(self, order: int = 2) -> float:
        """Length of the position."""
        return math.pow(sum(abs(self.position) ** order), 1 / order)


def test_fields_lie_in_order_without_gaps():
    places = [(item.name, item.kind, item.start, item.stop) for item in layout(Everything)]
    assert places == [
        ("speed", "float", 0, 1),
        ("count", "int", 1, 2),
        ("touching", "bool", 2, 3),
        ("position", "array", 3, 6),
        ("grid", "array", 6, 10),
    ]
    assert observation_size(Everything) == 10


def test_values_have_the_annotated_types_and_arrays_are_owned():
    flat = np.arange(10.0)
    seen = observation_class(Everything)(flat)
    assert (seen.speed, seen.count, seen.touching) == (0.0, 1, True)
    assert [type(value) for value in (seen.speed, seen.count, seen.touching)] == [float, int, bool]
    assert seen.position.tolist() == [3.0, 4.0, 5.0]
    assert seen.grid.tolist() == [[6.0, 7.0], [8.0, 9.0]]
    for array in (seen.position, seen.grid):
        assert array.base is None
        array[:] = -1.0
    assert flat.tolist() == list(range(10))


def test_the_standalone_source_describes_every_field_and_imports_numpy_and_math_only():
    source = standalone_source(Everything)
    nodes = ast.walk(ast.parse(source))
    imports = [ast.unparse(n) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    assert imports == ["import math", "import numpy as np"]
    assert "# float, m/s, range 0 to 3; forward\n        self.speed = " in source
    assert "# shape (3,), m, range (-1, 0, 0.5) to inf, frame world\n" in source
    assert '"""One field of every kind."""' in source
    space: dict = {}
    exec(source, space)  # noqa: S102 - this is what is tested
    assert space["Everything"] is space["Observation"]


def test_every_number_of_a_shipped_observation_arrives():
    for name in shipped_specs():
        observation = load_spec(name).observation
        flat = np.random.default_rng(0).uniform(-1e6, 1e6, observation_size(observation))
        for item in layout(observation):
            if item.kind == "int":
                flat[item.slice] = np.rint(flat[item.slice])
            elif item.kind == "bool":
                flat[item.slice] = 1.0
        seen = observation_class(observation)(flat)
        values = [np.ravel(getattr(seen, item.name)) for item in layout(observation)]
        np.testing.assert_array_equal(np.concatenate(values), flat)


# --- Facts ----------------------------------------------------------------------------------------

SECTION = "## Facts of the body\n\nThe walker weighs 3 kg.\n\n## Reward of one step"


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.py"
    path.write_text(TEXT.replace("make=make,", "make=make, facts='The walker weighs 3 kg.',"))
    return path


def prompts(capsys, *options):
    assert main(["prompt", *map(str, options)]) == 0
    return capsys.readouterr().out


def test_facts_stand_in_every_stage_unless_they_are_withheld(capsys, walk):
    printed = prompts(capsys, walk)
    assert printed.count(SECTION) == printed.count("## What the policy does") == 6
    for options in (["--set", "facts=false"], ["--preset", "paper"]):
        withheld = prompts(capsys, walk, *options)
        shown = prompts(capsys, walk, *options, "--set", "facts=true")
        assert SECTION in shown
        assert "3 kg" not in withheld
        assert withheld == shown.replace(SECTION, "## Reward of one step")


@pytest.mark.slow
def test_a_run_says_whether_it_shows_facts(tmp_path, walk):
    plain = tmp_path / "plain.py"
    plain.write_text(TEXT)
    for spec, how, line in ((walk, True, "yes"), (walk, False, "no"), (plain, True, None)):
        script = replies((POLICY,), feedback=FEEDBACK)
        (folder := tmp_path / str(line)).mkdir()
        result, _ = run(folder, script, spec=str(spec), facts=how)
        sent = [path.read_text() for path in (result.folder / "prompts").rglob("*.md")]
        assert any("3 kg" in text for text in sent) == (line == "yes")
        ((_, lines), *_) = settings(load_run(result.folder))
        assert dict(lines).get("facts") == line


# --- Published forms ------------------------------------------------------------------------------

#: A class and a reward that tell less, for the small spec.
LESS = '''class Less:
    class Observation:
        """Numbers."""

        numbers: np.ndarray = field(shape=(6,), doc="not explained")


SPEC = EnvSpec('''
GIVEN = '    published={"title": "Slide.", "observation": Less.Observation},\n    make=make,'


def test_the_published_form_replaces_the_parts_it_gives_and_no_others(write_spec):
    path = write_spec()
    assert load_spec(path, published=True).ref == str(path), "its own published form"
    path = write_spec(("SPEC = EnvSpec(", LESS), ("    make=make,", GIVEN))
    ours, theirs = load_spec(path), load_spec(path, published=True)
    assert (ours.title, theirs.title) == ("Slide: push a block along a line.", "Slide.")
    assert [f.name for f in layout(theirs.observation)] == ["numbers"]
    assert (theirs.description, theirs.name) == (ours.description, ours.name)
    assert theirs.ref == f"{path}@published"
    assert load_spec(theirs.ref).title == "Slide."
    assert "def distance" not in prompt_parts(theirs).text + standalone_source(theirs.observation)


def test_a_wrong_published_form_is_an_error_of_one_line(write_spec, failure):
    for given, problem in {
        '{"horizon": 3}': "published cannot replace 'horizon'; it may: title, description",
        '{"action": ""}': "action must be a text",
        '{"observation": Less.Observation}': "fields take 2 numbers, but the spec's own take 6",
        '"Slide."': "published must be a dict",
    }.items():
        less = LESS.replace("(6,)", "(2,)")
        parts = ("    make=make,", f"    published={given},\n    make=make,")
        path = write_spec(("SPEC = EnvSpec(", less), parts)
        message = failure(path)
        assert message.startswith(f"{path}:")
        assert problem in message


def test_the_paper_preset_prints_the_published_prompt_and_the_ordinary_one_stays(capsys):
    published = ["--published-prompt"], ["--preset", "paper"]
    for name, words in (
        ("pointmaze_large", "#.."),
        ("noise_world_board_5", "pays on a condition"),
    ):
        assert [words in prompts(capsys, name, *how) for how in (*published, [])] == [
            False, False, True,
        ]  # fmt: skip


def test_a_run_with_the_published_prompt_hands_its_policies_the_published_fields(tmp_path):
    reads = "class Policy:\n    def act(self, obs):\n        return 1 + 2 * int(obs.{}[0])\n"
    script = replies((reads.format("last_two"), reads.format("cell_labels[0]")))
    result, events = run(tmp_path, script, spec="noise_world_board_4", published_prompt=True)
    assert result.best.name == "r01_c01"
    (started,) = {str(d["config"]["published_prompt"]) for d in data_of(events, "run")}
    assert started == "True"
    sent = [path.read_text() for path in (result.folder / "prompts").rglob("*.md")]
    assert any("last_two" in text for text in sent)
    assert not any("first_flag" in text for text in sent)


@pytest.mark.slow
def test_a_recording_of_a_published_run_is_replayed_with_the_published_prompt(tmp_path, capsys):
    reads = "class Policy:\n    def act(self, obs):\n        return int(obs.last_two[0])\n"
    first, _ = run(tmp_path, replies((reads,)), "noise_world_board_4", published_prompt=True)
    recording = tmp_path / "published.jsonl"
    assert main(["export", str(first.folder), "--recording", str(recording)]) == 0
    argv = ["--spec", "noise_world_board_4", "--model", f"recorded:{recording}", "--workers", "1"]
    assert main([*argv, "--out", str(tmp_path / "again"), "--test-episodes", "2"]) == 0
    assert "best policy" in capsys.readouterr().out
