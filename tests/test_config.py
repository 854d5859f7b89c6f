"""Settings: types and ranges, layers and presets, TOML files, and the messages on mistakes."""

from pathlib import Path

import pytest

from promptpo import config
from promptpo.cli.settings import GROUPS
from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.methods import OWN_METHODS
from promptpo.run.config_file import load_toml
from promptpo.run.options import PRESETS, build, fields, flag, kind_of


def toml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_says_what_it_is() -> None:
    for method in OWN_METHODS:
        for f in fields(method).values():
            assert f.metadata["help"], f.name
            assert f.metadata["group"] in GROUPS


def test_defaults_are_five_rounds_of_four_candidates_and_as_many_episodes_as_it_takes() -> None:
    c = RunConfig()
    assert (c.rounds, c.candidates, c.episodes, c.test_episodes) == (5, 4, "auto", 50)
    assert (c.first_episodes, c.races, c.selection) == (5, True, (20, 60))
    assert (c.patience, c.early_stop) == (3, True)


def test_a_number_of_episodes_is_what_all_play() -> None:
    c = build({"episodes": 7, "selection_episodes": 30})
    assert (c.first_episodes, c.races, c.selection) == (7, False, (30, 30))


@pytest.mark.parametrize("name", ["episodes", "selection_episodes"])
def test_auto_is_a_number_of_episodes_in_a_file_too(tmp_path: Path, name: str) -> None:
    path = toml(tmp_path, f'{name.replace("_", "-")} = "auto"\n')
    assert getattr(build({name: 9}, load_toml(path)), name) == "auto"


@pytest.mark.parametrize("name", ["rounds", "test_episodes", "max_env_steps"])
def test_auto_is_no_value_of_other_settings(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a whole number, not 'auto'"):
        build({name: "auto"})


def test_later_layers_win_and_none_does_not_count() -> None:
    c = build({"rounds": 2, "seed": 7}, {"rounds": 3, "seed": None})
    assert (c.rounds, c.seed) == (3, 7)


def test_the_paper_preset_is_ten_rounds_of_ten_candidates() -> None:
    c = build({"preset": "paper"})
    assert (c.rounds, c.candidates, c.episodes) == (10, 10, 5)


def test_what_is_given_wins_over_a_preset_of_a_later_layer() -> None:
    assert build({"rounds": 3}, {"preset": "paper"}).rounds == 3


@pytest.mark.parametrize("name", PRESETS)
def test_presets_hold_known_settings(name: str) -> None:
    stored = build({"preset": name}).as_dict()
    assert (stored | stored["options"]).items() >= dict(PRESETS[name]).items()


def test_unknown_preset() -> None:
    with pytest.raises(UsageError, match="did you mean 'paper'"):
        build({"preset": "papr"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"rounds": "three"}, "rounds must be a whole number, not 'three'"),
        ({"episodes": "many"}, "episodes must be a whole number or 'auto', not 'many'"),
        ({"episodes": 0}, "episodes must be at least 1, not 0"),
        ({"episodes": 2.5}, "episodes must be a whole number or 'auto', not 2.5"),
        ({"patience": -1}, "patience must be at least 0, not -1"),
        ({"rounds": 2.5}, "rounds must be a whole number, not 2.5"),
        ({"rounds": True}, "rounds must be a whole number, not True"),
        ({"temperature": -1}, "temperature must be at least 0, not -1"),
        ({"max_cost": float("nan")}, "max_cost must be a finite number, not nan"),
        ({"max_time": float("inf")}, "max_time must be a finite number, not inf"),
        ({"target": float("-inf")}, "target must be a finite number, not -inf"),
        ({"rounds": 10**30}, "rounds must be at most 1,000, not 1000000"),
        ({"workers": 1000}, "workers must be at most"),
        ({"seed": 10**400}, "seed must be a finite number, not 1000"),
        ({"seed": 10**9000}, "seed must be a finite number, not a number of thousands of digits"),
        ({"call_timeout": 1e9}, "call_timeout must be at most 86,400"),
        ({"spec": {"rounds": [1] * 999}}, "spec must be a string, not {'rounds'"),
        ({"spec": "a\0b"}, r"spec must not hold control characters \(U\+0000\): 'a\\x00b'"),
        ({"out": "a\nb"}, r"out must not hold control characters \(a line break\)"),
        ({"model": "m\x1b[31m"}, r"model must not hold control characters \(U\+001B\)"),
        ({"model": "m" * 9999}, "model has 9,999 characters"),
        ({"preset": {"a": 1}}, "unknown preset {'a': 1}; known presets: paper, quick"),
        ({"reflection": 1}, "reflection must be true or false, not 1"),
        ({"spec": 3}, "spec must be a string, not 3"),
        ({"sandbox": "strct"}, "did you mean 'strict'"),
        ({"policy_lifetime": "x"}, "one of: episode, evaluation"),
    ],
)
def test_a_value_that_does_not_fit_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(settings)


def test_a_whole_number_is_fine_where_a_number_is_wanted() -> None:
    assert build({"max_time": 60}).max_time == 60


def test_flags_are_spelled_with_dashes() -> None:
    assert flag("max_env_steps") == "--max-env-steps"
    assert flag("reflection") == "--no-reflection"


def test_toml_keys_may_have_dashes_or_underscores(tmp_path: Path) -> None:
    path = toml(tmp_path, 'spec = "cartpole"\nmax-cost = 1.5\ntest_episodes = 10\n')
    assert load_toml(path) == {
        "spec": "cartpole", "max_cost": 1.5, "test_episodes": 10, "methods": {},
    }  # fmt: skip


def test_a_mistyped_toml_key_names_file_line_and_nearest_key(tmp_path: Path) -> None:
    path = toml(tmp_path, 'spec = "cartpole"\n\ncandidate = 3\n')
    with pytest.raises(UsageError) as e:
        load_toml(path)
    assert str(e.value) == f"{path}:3: unknown key 'candidate'; did you mean 'candidates'?"


def test_a_key_like_no_other_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known keys: spec, method"):
        load_toml(toml(tmp_path, "zzz = 1\n"))


def complaint(path: Path) -> str:
    """What is said of a file, without its name; one line."""
    with pytest.raises(UsageError) as e:
        load_toml(path)
    line = str(e.value)
    assert "\n" not in line
    assert len(line) < 700
    assert line.startswith(f"{path}:")
    return line.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 1\nrounds = \n", ":2: not valid TOML: Invalid value (column 10)"),
        ("\x00", ":1: not valid TOML"),
        ("[a\n", ":1: not valid TOML"),
        ("a = " + "[" * 5000, ": not valid TOML: nested too deeply"),
        ("seed = " + "9" * 5000, ": not valid TOML: Exceeds the limit"),
        ("seed = 1\nseed = 2\n", ":2: not valid TOML: Cannot overwrite a value"),
        ("max-cost = 1\nmax_cost = 2\n", ":2: 'max_cost' is given twice"),
        ("seed = 1\n[rounds]\nx = 1\n", ":2: rounds is a setting, not a table; write rounds = "),
        ("seed = 1\nrounds.x = 1\n", ":2: rounds is a setting, not a table"),
        ("[settings]\nrounds = 1\n", ":1: unknown key 'settings'"),
        ("seed = 1\n\nrounds = 0\n", ":3: rounds must be at least 1, not 0"),
        ("max_time = inf\n", ":1: max_time must be a finite number, not inf"),
        ("rounds = 1979-05-27\n", ":1: rounds must be a whole number, not datetime.date"),
        ("rounds = [1]\n", ":1: rounds must be a whole number, not [1]"),
        ("preset = 3\n", ":1: unknown preset 3"),
        ("rounds = 1\nround = 2\n", ":2: unknown key 'round'; did you mean 'rounds'?"),
        ('"round\\u0073" = 0\n', ":1: rounds must be at least 1"),
    ],
)
def test_a_file_that_does_not_fit_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert complaint(toml(tmp_path, text)).startswith(message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("seed = 1\n# caf\xe9\n".encode("latin-1"), ":2: the byte 0xe9 is not UTF-8"),
        ("seed = 1\n".encode("utf-16"), ":1: the file is UTF-16; save it as UTF-8"),
        ("seed = 1\n".encode("utf-32"), ":1: the file is UTF-32; save it as UTF-8"),
        (b"#" * (5 << 20), ": larger than 4 MiB"),
    ],
    ids=["latin-1", "utf-16", "utf-32", "large"],
)
def test_a_file_that_is_no_utf_8_says_so(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(data)
    assert complaint(path).startswith(message)


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes("\ufeffseed = 1\r\nrounds = 2\r\n".encode())
    assert load_toml(path) == {"seed": 1, "rounds": 2, "methods": {}}


def test_a_folder_is_no_file_of_settings(tmp_path: Path) -> None:
    assert "give --config a TOML file" in complaint(tmp_path)


def test_every_number_has_a_least_and_a_most() -> None:
    settings = {(m, name): f for m in OWN_METHODS for name, f in fields(m).items()}
    kinds = {(m, name): config.value_type(kind_of(name, m), name) for m, name in settings}
    numbers = {key for key, kind in kinds.items() if kind in (int, float)}
    bounded = {key for key in numbers if settings[key].metadata["within"]}
    returns = {"target", "threshold"}  # which may be any number
    assert {name for _, name in numbers - bounded} == returns


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml: No such file.*give --config"):
        load_toml(tmp_path / "absent.toml")


def test_every_error_is_one_line(tmp_path: Path) -> None:
    for bad in ({"rounds": 0}, {"preset": "x"}, {"sandbox": "x"}):
        with pytest.raises(UsageError) as e:
            build(bad)
        assert "\n" not in str(e.value)


def test_concurrency_follows_the_candidates() -> None:
    assert build({"candidates": 7}).concurrency == 7
    assert build({"candidates": 7, "max_concurrency": 2}).concurrency == 2


def test_stored_settings_build_the_same_configuration() -> None:
    c = build({"preset": "paper", "spec": "cartpole", "max_cost": 2.0, "reflection": False})
    assert build(c.as_dict()) == c


def test_value_types_are_plain() -> None:
    kinds = {config.value_type(RunConfig, name) for name in config.fields()}
    assert kinds == {int, float, str, bool}
