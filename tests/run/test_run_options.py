"""Settings by method: a method's own options stand beside those of every run."""

from pathlib import Path

import pytest

from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.methods import OWN_METHODS, find_method
from promptpo.methods.best_of_n import Options as BestOfNOptions
from promptpo.methods.promptpo import Options
from promptpo.run.config_file import load_toml
from promptpo.run.options import build, fields, flag


def toml(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    return load_toml(path)


def test_a_run_has_the_options_of_its_method() -> None:
    assert build().options == Options()
    assert build({"method": "best-of-n", "finalists": 3}).options == BestOfNOptions(3)


@pytest.mark.parametrize("method", OWN_METHODS)
def test_no_option_of_a_method_has_the_name_of_a_setting(method: str) -> None:
    assert not {*fields(method)} - {*fields()} & {*RunConfig.__dataclass_fields__}
    assert {*RunConfig.__dataclass_fields__} - {"options"} <= {*fields(method)}


def test_an_option_of_another_method_is_refused_and_named() -> None:
    with pytest.raises(UsageError) as e:
        build({"method": "random-search", "finalists": 3})
    assert str(e.value).startswith("finalists is an option of the method best-of-n, ")
    assert str(e.value).endswith(", not of random-search")


def test_an_option_that_none_has_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown setting 'finalist'; did you mean 'finalists'"):
        build({"method": "best-of-n", "finalist": 3})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "best-of-n", "finalists": 0}, "finalists must be at least 1, not 0"),
        ({"method": "best-of-n", "finalists": "5"}, "finalists must be a whole number, not '5'"),
        ({"method": "random-search", "scale": 0.0}, "scale must be at least 1e-09, not 0"),
        ({"method": "rndom-search"}, "unknown method 'rndom-search'; did you mean 'random-search'"),
        ({"method": "zzz"}, "known methods: promptpo, best-of-n, tune, random-search"),
        ({"method": 3}, "method must be a string, not 3"),
    ],
)
def test_a_value_that_does_not_fit_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(settings)


def test_a_preset_sets_what_the_method_knows_and_passes_over_the_rest() -> None:
    c = build({"preset": "paper", "method": "best-of-n"})
    assert (c.rounds, c.candidates, c.options) == (10, 10, BestOfNOptions())


def test_what_stands_below_is_passed_over_where_the_method_does_not_know_it() -> None:
    c = build({"method": "best-of-n"}, below={"rounds": 3, "max_repairs": 1, "target": 1.0})
    assert (c.rounds, c.target, c.options) == (3, 1.0, BestOfNOptions())


def test_a_method_may_be_named_below() -> None:
    assert build({"rounds": 2}, below={"method": "random-search"}).method == "random-search"
    assert build({"method": "promptpo"}, below={"method": "random-search"}).method == "promptpo"


def test_a_method_that_asks_no_model_has_none() -> None:
    assert build({"method": "random-search", "model": "openai/gpt-5"}).model is None


@pytest.mark.parametrize("method", OWN_METHODS)
def test_stored_settings_build_the_same_configuration(method: str) -> None:
    c = build({"method": method, "spec": "cartpole", "preset": "paper", "max_env_steps": 900})
    assert build(c.as_dict()) == c


def test_settings_may_be_stored_flat_as_by_earlier_versions() -> None:
    c = build({"max_repairs": 1, "spec": "cartpole"})
    stored = c.as_dict()
    assert build({**{k: v for k, v in stored.items() if k != "options"}, "max_repairs": 1}) == c


def test_a_table_of_a_file_counts_where_its_method_is_chosen(tmp_path: Path) -> None:
    text = "rounds = 2\n[random-search]\nscale = 2\n[best-of-n]\nfinalists = 3\n"
    layer = toml(tmp_path, text)
    assert build(layer).options == Options()
    assert build(layer, {"method": "best-of-n"}).options == BestOfNOptions(3)
    assert build(layer, {"method": "random-search"}).options.scale == 2
    assert build(layer, {"method": "best-of-n", "finalists": 9}).options.finalists == 9


def test_options_may_stand_above_the_tables_too(tmp_path: Path) -> None:
    assert build(toml(tmp_path, 'method = "best-of-n"\nfinalists = 2\n')).options.finalists == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('method = "bestofn"\n', ":1: unknown method 'bestofn'; did you mean 'best-of-n'?"),
        ("[random-search]\nscal = 2\n", ":2: unknown option of random-search 'scal'; did you mean"),
        ("[random-search]\nzzz = 2\n", ":2: unknown option of random-search 'zzz'; known option"),
        ("[random-search]\nfinalists = 2\n", ":2: unknown option of random-search 'finalists'"),
        ("[random-search]\nrounds = 2\n", ":2: unknown option of random-search 'rounds'"),
        ("[random-search]\n\nscale = 0\n", ":3: scale must be at least 1e-09, not 0"),
        ("scale = 1\n[random-search]\nscale = 0\n", ":3: scale must be at least"),
        ("random-search.scale = 0\n", ":1: scale must be at least 1e-09, not 0"),
        ("random-search = 2\n", ":1: random-search is a method: write its options below [random"),
        ("[random_search]\nscale = 2\n", ":1: unknown key 'random_search'; did you mean 'random-"),
        ("[promptpo]\nmax_repairs=1\nmax-repairs=2\n", ":3: 'max-repairs' is given twice"),
        ("[promptpo]\n[promptpo.reflection]\nx=1\n", "reflection is a setting, not a table"),
    ],
)
def test_a_file_that_does_not_fit_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as e:
        toml(tmp_path, text)
    assert message in str(e.value)
    assert "\n" not in str(e.value)


def test_flags_of_options() -> None:
    assert flag("max_repairs") == "--max-repairs"
    assert flag("reflection") == "--no-reflection"
    assert flag("scale", "random-search") == "--scale"


def test_importing_the_methods_imports_none_of_them_before_it_is_chosen() -> None:
    assert find_method("random-search").Options is not find_method("promptpo").Options
