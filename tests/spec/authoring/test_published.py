"""The published form of a spec: other words and fields for the same task."""

import pytest
from scripted import data_of, replies, run

from promptpo.cli import main
from promptpo.errors import SpecError
from promptpo.spec import layout, load_spec, prompt_parts, shipped_specs, standalone_source

FORMS = [name for name in shipped_specs() if load_spec(name).published]

#: A class and a reward that tell less, for the small spec.
LESS = '''class Less:
    class Observation:
        """Numbers."""

        numbers: np.ndarray = field(shape=(6,), doc="not explained")


SPEC = EnvSpec('''
GIVEN = '    published={"title": "Slide.", "observation": Less.Observation},\n    make=make,'


def test_the_published_form_replaces_the_parts_it_gives_and_no_others(write_spec):
    path = write_spec(("SPEC = EnvSpec(", LESS), ("    make=make,", GIVEN))
    ours, theirs = load_spec(path), load_spec(path, published=True)
    assert (ours.title, theirs.title) == ("Slide: push a block along a line.", "Slide.")
    assert [f.name for f in layout(theirs.observation)] == ["numbers"]
    assert theirs.description == ours.description
    assert theirs.name == ours.name
    assert theirs.ref == f"{path}@published"
    assert load_spec(theirs.ref).title == "Slide."
    assert "def distance" not in prompt_parts(theirs).text + standalone_source(theirs.observation)


def test_a_spec_that_tells_no_more_is_its_own_published_form(write_spec):
    path = write_spec()
    assert load_spec(path, published=True).ref == str(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{"horizon": 3}', "published cannot replace 'horizon'; it may: title, description"),
        ('{"action": ""}', "action must be a text"),
        ('{"observation": Less.Observation}', "fields take 2 numbers, but the spec's own take 6"),
        ('"Slide."', "published must be a dict"),
    ],
)
def test_a_wrong_published_form_is_an_error_of_one_line(write_spec, given, message):
    less = LESS.replace("(6,)", "(2,)")
    path = write_spec(
        ("SPEC = EnvSpec(", less), ("    make=make,", f"    published={given},\n    make=make,")
    )
    with pytest.raises(SpecError, match=rf"^{path}:\d+: .*") as error:
        load_spec(path)
    assert message in str(error.value)


def test_the_forms_are_of_the_boards_and_the_mazes():
    boards = [f"noise_world_board_{number}" for number in range(7)]
    assert [*boards, "pointmaze_large", "pointmaze_large_diverse_g"] == FORMS


@pytest.mark.parametrize("name", FORMS)
def test_a_published_prompt_shows_nothing_that_it_withholds(name):
    form = load_spec(name, published=True)
    text = prompt_parts(form).text.lower()
    phrases = ("gymnasium", "import ", "def make", "envspec", "@staticmethod", *form.withheld)
    assert [phrase for phrase in phrases if phrase.lower() in text] == []
    assert len(form.withheld) > 5


@pytest.mark.parametrize("name", ["pointmaze_large", "noise_world_board_5"])
def test_the_paper_preset_prints_the_published_prompt_and_the_ordinary_one_stays(capsys, name):
    printed = []
    for options in (["--preset", "paper"], ["--published-prompt"], []):
        assert main(["prompt", name, *options]) == 0
        printed.append(capsys.readouterr().out)
    tells = {"pointmaze_large": "#..", "noise_world_board_5": "pays on a condition"}[name]
    assert [tells in text for text in printed] == [False, False, True]


def test_a_run_with_the_published_prompt_hands_its_policies_the_published_fields(tmp_path):
    reads = "class Policy:\n    def act(self, obs):\n        return 1 + 2 * int(obs.{}[0])\n"
    script = replies((reads.format("last_two"), reads.format("cell_labels[0]")))
    result, events = run(tmp_path, script, spec="noise_world_board_4", published_prompt=True)
    assert result.best.name == "r01_c01"
    (started,) = {str(d["config"]["published_prompt"]) for d in data_of(events, "run")}
    assert started == "True"
    prompts = [path.read_text() for path in (result.folder / "prompts").rglob("*.md")]
    assert any("last_two" in text for text in prompts)
    assert not any("first_flag" in text for text in prompts)


@pytest.mark.slow
def test_a_recording_of_a_published_run_is_replayed_with_the_published_prompt(tmp_path, capsys):
    reads = "class Policy:\n    def act(self, obs):\n        return int(obs.last_two[0])\n"
    first, _ = run(tmp_path, replies((reads,)), "noise_world_board_4", published_prompt=True)
    recording = tmp_path / "published.jsonl"
    assert main(["export", str(first.folder), "--recording", str(recording)]) == 0
    argv = ["--spec", "noise_world_board_4", "--model", f"recorded:{recording}", "--workers", "1"]
    assert main([*argv, "--out", str(tmp_path / "again"), "--test-episodes", "2"]) == 0
    assert "best policy" in capsys.readouterr().out
