"""What the model may see of a spec: verbatim, complete, and nothing else."""

import pytest

from promptpo.spec import layout, load_spec, prompt_parts, shipped_specs


def test_class_and_reward_are_verbatim(write_spec):
    path = write_spec()
    parts = prompt_parts(load_spec(path))
    text = path.read_text()
    assert parts.observation in text
    assert parts.observation.startswith("class Observation:")
    assert parts.observation.endswith("return abs(self.position)")
    assert parts.reward in text
    assert parts.reward.startswith("def reward(observation, action, next_observation):")
    assert parts.action == "An array of 1 float in [-1, 1]: the force in N."
    assert parts.horizon == 50


def test_helpers_of_the_reward_come_before_it(write_spec):
    path = write_spec(
        ("return -next_observation.distance()", "return closeness(next_observation.position)"),
        ("def reward", "def closeness(x):\n    return -abs(x)\n\n\ndef reward"),
        ("reward=reward,", "reward=reward,\n    reward_helpers=(closeness,),"),
    )
    reward = prompt_parts(load_spec(path)).reward
    assert reward.startswith("def closeness(x):\n    return -abs(x)\n\n\ndef reward(")


def test_the_rest_of_the_module_is_withheld(write_spec):
    path = write_spec(("def make():", "SECRET = 'gravity is 3'\n\n\ndef make():"))
    text = prompt_parts(load_spec(path)).text
    assert "SECRET" not in text
    assert "def make" not in text
    assert "EnvSpec" not in text


def test_an_edit_after_loading_does_not_change_the_parts(write_spec):
    spec = load_spec(write_spec())
    before = prompt_parts(spec)
    write_spec(("The block, before", "A line more.\n\n    The block, ahead of"))
    assert prompt_parts(spec) == before


def test_a_description_of_its_own_replaces_the_docstring(write_spec):
    path = write_spec(("horizon=50", 'horizon=50, description="Something else."'))
    assert prompt_parts(load_spec(path)).description == "Something else."


@pytest.mark.parametrize("name", shipped_specs())
def test_a_shipped_prompt_shows_no_constructor_and_nothing_withheld(name):
    spec = load_spec(name)
    text = prompt_parts(spec).text.lower()
    for phrase in ("gymnasium", "import ", "def make", "def observe", "envspec", *spec.withheld):
        assert phrase not in text, phrase


@pytest.mark.parametrize("name", shipped_specs())
def test_a_shipped_spec_describes_every_field(name):
    for item in layout(load_spec(name).observation):
        assert item.field.doc, item.name


@pytest.mark.parametrize("name", shipped_specs())
def test_a_shipped_spec_states_reference_values(name):
    scores = load_spec(name).reference_scores
    assert {"random", "zero action"} <= set(scores)
