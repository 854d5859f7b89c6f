"""Settings: types and ranges, layers and presets, methods' options, TOML files, and complaints."""

from pathlib import Path
from typing import Any

import pytest

from promptpo import config
from promptpo.cli.parser import GROUPS
from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.methods import OWN_METHODS
from promptpo.methods.best_of_n import Options as BestOfNOptions
from promptpo.methods.promptpo import Options
from promptpo.presets import PRESETS
from promptpo.run.settings import build, fields, load_toml
from promptpo.spec import load_spec

CARTPOLE = load_spec("cartpole")


def toml(tmp_path: Path, text: str | bytes) -> dict[str, Any]:
    path = tmp_path / "run.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_toml(path)


def complaint(settings: dict[str, Any]) -> str:
    with pytest.raises(UsageError) as e:
        build(settings)
    assert "\n" not in str(e.value)
    return str(e.value)


def test_every_setting_is_declared_whole() -> None:
    returns = {"target", "threshold"}  # which may be any number
    for method in OWN_METHODS:
        own = fields(method).keys() - fields("tune").keys()
        assert not own & {*RunConfig.__dataclass_fields__}
        for s in fields(method).values():
            assert s.help and s.group in GROUPS, s.name
            assert s.kind in (int, float, str, bool), s.name
            assert s.within or s.name in returns or s.kind in (str, bool), s.name
            assert s.flag == (
                f"--{s.name.replace('_', '-')}" if s.name in config.OPTIONS else f"--set {s.name}"
            )
    options = [fields()[name] for name in config.OPTIONS]
    assert not any(s.kind is bool and s.default for s in options)  # a flag turns it on


def test_defaults_are_five_rounds_of_four_candidates_and_as_many_episodes_as_it_takes() -> None:
    c = build()
    assert c == RunConfig(options=Options())
    assert (c.rounds, c.candidates, c.episodes, c.test_episodes) == (5, 4, "auto", 50)
    assert (c.first_episodes, c.races, c.selection) == (5, True, (20, 60))
    assert (c.patience, c.early_stop) == (3, True)
    c = build({"episodes": 7, "selection_episodes": 30, "max_concurrency": 2, "max_time": 60})
    assert (c.first_episodes, c.races, c.selection) == (7, False, (30, 30))
    assert (c.max_concurrency, c.max_time) == (2, 60)


def test_numbers_of_episodes_are_whole_lives() -> None:
    c = RunConfig(policy_lifetime="evaluation", evaluation_episodes=8).for_spec(CARTPOLE)
    assert (c.life, c.first_episodes, c.selection, c.held_out) == (8, 8, (24, 64), 56)
    c = RunConfig().for_spec(CARTPOLE)
    assert c == RunConfig(smallest_difference=0.01)
    assert (c.life, c.first_episodes, c.selection, c.held_out) == (1, 5, (20, 60), 50)
    assert RunConfig(policy_lifetime="evaluation").for_spec(CARTPOLE).life == 10
    c = RunConfig(policy_lifetime="episode", evaluation_episodes=8)
    assert c.for_spec(CARTPOLE).life == 1
    with pytest.raises(UsageError, match="--set policy_lifetime=evaluation"):
        RunConfig(evaluation_episodes=8).for_spec(CARTPOLE)


def test_later_layers_win_and_none_does_not_count() -> None:
    c = build({"rounds": 2, "seed": 7}, {"rounds": 3, "seed": None})
    assert (c.rounds, c.seed) == (3, 7)
    assert build({"rounds": 3}, {"preset": "paper"}).rounds == 3


def test_presets_are_known_settings_which_other_methods_pass_over() -> None:
    for name, values in PRESETS.items():
        stored = build({"preset": name}).as_dict()
        assert (stored | stored["options"]).items() >= dict(values).items()
    c = build({"preset": "paper", "method": "best-of-n"})
    assert (c.rounds, c.candidates, c.episodes, c.options) == (10, 10, 5, BestOfNOptions())


def test_what_stands_below_is_passed_over_where_the_method_does_not_know_it() -> None:
    c = build({"method": "best-of-n"}, below={"rounds": 3, "max_repairs": 1, "target": 1.0})
    assert (c.rounds, c.target, c.options) == (3, 1.0, BestOfNOptions())
    assert build({"rounds": 2}, below={"method": "random-search"}).method == "random-search"
    assert build({"method": "promptpo"}, below={"method": "random-search"}).method == "promptpo"
    assert build({"method": "random-search", "model": "openai/gpt-5"}).model is None


def test_stored_settings_build_the_same_configuration() -> None:
    for method in OWN_METHODS:
        c = build({"method": method, "spec": "cartpole", "preset": "paper", "max_env_steps": 900})
        assert build(c.as_dict()) == c
    c = build({"max_repairs": 1, "spec": "cartpole"})
    flat = {k: v for k, v in c.as_dict().items() if k != "options"}  # as earlier versions wrote
    assert build({**flat, "max_repairs": 1}) == c


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"rounds": "three"}, "rounds must be a whole number, not 'three'"),
        ({"rounds": "auto"}, "rounds must be a whole number, not 'auto'"),
        ({"episodes": "many"}, "episodes must be a whole number or 'auto', not 'many'"),
        ({"episodes": 0}, "episodes must be at least 1, not 0"),
        ({"rounds": 2.5}, "rounds must be a whole number, not 2.5"),
        ({"rounds": True}, "rounds must be a whole number, not True"),
        ({"max_cost": float("nan")}, "max_cost must be a finite number, not nan"),
        ({"target": float("-inf")}, "target must be a finite number, not -inf"),
        ({"rounds": 10**30}, "rounds must be at most 1,000, not 1000000"),
        ({"workers": 1000}, "workers must be at most"),
        ({"seed": 10**9000}, "seed must be a finite number, not a number of thousands of digits"),
        ({"spec": {"rounds": [1] * 999}}, "spec must be a string, not {'rounds'"),
        ({"spec": "a\0b"}, "spec must not hold control characters (U+0000): 'a\\x00b'"),
        ({"out": "a\nb"}, "out must not hold control characters (a line break)"),
        ({"model": "m\x1b[31m"}, "model must not hold control characters (U+001B)"),
        ({"model": "m" * 9999}, "model has 9,999 characters"),
        ({"preset": {"a": 1}}, "unknown preset {'a': 1}; known presets: paper, quick"),
        ({"preset": "papr"}, "unknown preset 'papr'; did you mean 'paper'?"),
        ({"reflection": 1}, "reflection must be true or false, not 1"),
        ({"sandbox": "strct"}, "sandbox: 'strct' is not known; did you mean 'strict'"),
        ({"policy_lifetime": "x"}, "one of: episode, evaluation"),
        ({"track": "wandb,mlflo"}, "track: 'mlflo' is not known; did you mean 'mlflow'"),
        ({"method": "best-of-n", "finalists": 0}, "finalists must be at least 1, not 0"),
        ({"method": "best-of-n", "finalist": 3}, "unknown setting 'finalist'; did you mean 'final"),
        ({"method": "random-search", "finalists": 3}, "option of the method best-of-n, props, pr"),
        ({"method": "rndom-search"}, "unknown method 'rndom-search'; did you mean 'random-search'"),
        ({"method": "zzz"}, "known methods: promptpo, best-of-n, tune, random-search"),
        ({"method": 3}, "method must be a string, not 3"),
    ],
)
def test_a_value_that_does_not_fit_is_named(settings: dict[str, Any], message: str) -> None:
    assert message in complaint(settings)


def test_a_file_gives_settings_and_tables_of_methods(tmp_path: Path) -> None:
    text = "\ufeffspec = 'cartpole'\r\nmax-cost = 1.5\r\n".encode()
    assert toml(tmp_path, text) == {"spec": "cartpole", "max_cost": 1.5, "methods": {}}
    assert build({"episodes": 9}, toml(tmp_path, 'episodes = "auto"\n')).episodes == "auto"
    layer = toml(tmp_path, "[random-search]\nscale = 2\n[best-of-n]\nfinalists = 3\n")
    assert build(layer).options == Options()
    assert build(layer, {"method": "best-of-n"}).options == BestOfNOptions(finalists=3)
    assert build(layer, {"method": "best-of-n", "finalists": 9}).options == BestOfNOptions(
        finalists=9
    )
    above = toml(tmp_path, 'method = "best-of-n"\nfinalists = 2\n')
    assert build(above).options == BestOfNOptions(finalists=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec = 'x'\n\ncandidate = 3\n", ":3: unknown key 'candidate'; did you mean 'candidates'"),
        ("zzz = 1\n", ":1: unknown key 'zzz'; known keys: spec, "),
        ("seed = 1\nrounds = \n", ":2: not valid TOML: Invalid value (column 10)"),
        ("a = " + "[" * 5000, ": not valid TOML: nested too deeply"),
        ("seed = " + "9" * 5000, ": not valid TOML: Exceeds the limit"),
        ("seed = 1\nseed = 2\n", ":2: not valid TOML: Cannot overwrite a value"),
        ("max-cost = 1\nmax_cost = 2\n", ":2: 'max_cost' is given twice"),
        ("seed = 1\n[rounds]\nx = 1\n", ":2: rounds is a setting, not a table; write rounds = "),
        ("seed = 1\nrounds.x = 1\n", ":2: rounds is a setting, not a table"),
        ("seed = 1\n\nrounds = 0\n", ":3: rounds must be at least 1, not 0"),
        ("rounds = 1979-05-27\n", ":1: rounds must be a whole number, not datetime.date"),
        ("preset = 3\n", ":1: unknown preset 3"),
        ('"round\\u0073" = 0\n', ":1: rounds must be at least 1"),
        ("# caf\xe9\n".encode("latin-1"), ":1: the byte 0xe9 is not UTF-8"),
        ("seed = 1\n".encode("utf-16"), ":1: the file is UTF-16; save it as UTF-8"),
        (b"#" * (5 << 20), ": larger than 4 MiB"),
        ('method = "bestofn"\n', ":1: unknown method 'bestofn'; did you mean 'best-of-n'?"),
        ("[random-search]\nscal = 2\n", ":2: unknown option of random-search 'scal'; did you mean"),
        ("[random-search]\nfinalists = 2\n", ":2: unknown option of random-search 'finalists'"),
        ("scale = 1\n[random-search]\nscale = 0\n", ":3: scale must be at least 1e-09, not 0"),
        ("random-search = 2\n", ":1: random-search is a method: write its options below [random"),
        ("[random_search]\nscale = 2\n", ":1: unknown key 'random_search'; did you mean 'random-"),
        ("[promptpo]\nmax_repairs=1\nmax-repairs=2\n", ":3: 'max-repairs' is given twice"),
        ("[promptpo]\n[promptpo.reflection]\nx=1\n", "reflection is a setting, not a table"),
    ],
    ids=range(24),
)
def test_a_file_that_does_not_fit_names_its_line(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(UsageError) as e:
        toml(tmp_path, text)
    line = str(e.value)
    assert "\n" not in line and len(line) < 700
    assert line.startswith(f"{tmp_path / 'run.toml'}:")
    assert message in line


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml: No such file.*give --config"):
        load_toml(tmp_path / "absent.toml")
    with pytest.raises(UsageError, match="give --config a TOML file"):
        load_toml(tmp_path)
