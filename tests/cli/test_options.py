"""Options: their number, near misses, where they may stand, help, and what a command imports."""

import time
from pathlib import Path

import pytest
from own_cartpole import own_cartpole
from processes import ROOT, command, python, started

import promptpo
from promptpo import config
from promptpo.cli import main
from promptpo.cli.parser import COMMANDS
from promptpo.cli.run import parser
from promptpo.config import RunConfig


def error(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(argv)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err.strip()


def test_there_are_at_most_60_options(capsys: pytest.CaptureFixture[str]) -> None:
    """Methods have none of their own: theirs are settings, given by ``--set``."""
    options = {
        option
        for command in COMMANDS.values()
        for action in command.parser()._actions
        for option in action.option_strings
        if option.startswith("--")
    }
    with capsys.disabled():
        print(f"{len(options)} options ", end="")
    assert len(options) <= 60


def test_every_setting_is_an_option_or_given_by_set() -> None:
    values = {bool: "true", int: "3", float: "1"}
    for name, s in config.fields(RunConfig).items():
        value = (*s.several, *s.words, values.get(s.kind, "x"))[0] if s.kind is str else ""
        text = value or values[s.kind]
        option = (
            [] if name not in config.OPTIONS else [s.flag] if s.kind is bool else [s.flag, text]
        )
        for argv in (["--set", f"{name.replace('_', '-')}={text}"], option):
            given = vars(parser().parse_args(argv))
            given = {k: v for k, v in given.items() if k in config.fields(RunConfig)}
            assert given == ({name: s.read(text)} if argv else {})


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--round", "3"], "unknown option '--round'; did you mean '--rounds'?"),
        (["--max_cost=3"], "unknown option '--max_cost'; did you mean '--max-cost'?"),
        (["--zzz"], "unknown option '--zzz'; see promptpo --help"),
        (["eval", "latest", "--foo"], "unknown option '--foo'; see promptpo eval --help"),
        (["--rounds", "three"], "rounds must be a whole number, not 'three'"),
        (["--rounds"], "--rounds: expected one argument"),
        (["--rounds", "9" * 5000], "rounds must be a whole number, not inf"),
        (["--workers", "1000", "--spec", "cartpole"], "workers must be at most"),
        (["--set", "act_timeout=1e400"], "act_timeout must be a finite number"),
        (["--set", "facts"], "--set facts: write it as NAME=VALUE, as in --set act_timeout=2"),
        (["--set", "fact=true", "cartpole"], "unknown setting 'fact'; did you mean 'facts'?"),
        (["--set", "methods=1"], "unknown setting 'methods'; did you mean 'method'?"),
        (["eval", "x", "--set", "facts=true"], "unknown setting 'facts'; known settings: spec, "),
        (["--no-tune"], "unknown option '--no-tune'; write --set tune=false"),
        (["--no-facts"], "unknown option '--no-facts'; write --set facts=false"),
        (["eval", "x", "--policy-seed", "1"], "write --set policy_seed=VALUE"),
        (["--spec", "a\nb.py"], "spec must not hold control characters (a line break): 'a\\nb.py'"),
        (["view", "--port", "abc"], "--port must be a whole number, not 'abc'"),
        (["view", "--port", "-1"], "--port must be at least 0, not -1"),
        (["video", "x", "--fps", "nan"], "--fps must be a finite number, not nan"),
        (["video", "x", "--episodes", "9" * 5000], "--episodes: '999"),
        (["video", "x", "--episodes", "1001"], "nor a number from 1 to 1,000"),
        (["video", "x", "--size", "6\u0664x48"], "--size: write it as WIDTHxHEIGHT"),
        (["--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'?"),
        (["--method", "promptp", "cartpole"], "unknown method 'promptp'; did you mean 'promptpo'?"),
        (["--seed", "1", "lsit"], "'lsit' is no command and no spec; did you mean 'list'?"),
        (["cartpol"], "'cartpol' is no command and no spec; did you mean the spec 'cartpole'?"),
        (["qqq"], "`promptpo help` shows the commands, `promptpo list` the specs"),
        (["--to", "x", "export"], "unknown option '--to'; see promptpo --help"),
        (["--", "list", "--help"], "no command and no spec"),
        (["help", "evl"], "unknown command 'evl'; did you mean 'eval'?"),
        (["cartpole", "--spec", "nim"], "two specs, 'cartpole' and --spec nim"),
        (
            ["prompt", "cartpole", "nim"],
            "'nim' is no part of what is sent of cartpole; choose from task",
        ),
        (
            ["prompt", "nim", "facts"],
            "choose from task, observation, action, reward, system, feedback",
        ),
        (["list", "nim", "x"], "unexpected argument 'x'; see promptpo list --help"),
        (["--target", "-1e3", "--seed"], "--seed: expected one argument"),
        ([], "no spec; name a spec file or a shipped spec"),
        (["prompt"], "name the spec whose prompts are to be shown"),
        (["eval"], "the following arguments are required: POLICY_OR_RUN"),
        (["export", "latest", "--how", "x"], "--how: it stands in a recording's header"),
        (["export", "latest", "--recording", "x", "--minari"], "--recording: writes no policy"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    code, line = error(capsys, *argv)
    assert code == 2
    assert line.startswith("promptpo: error: ")
    assert message in line


def test_command_line_wins_over_file_and_file_over_preset(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "run.toml"
    file.write_text('spec = "cartpole"\nmodel = "openai/x"\nrounds = 3\ncandidates = 2\n')
    argv = ["--config", str(file), "--preset", "paper", "--rounds", "1", "--dry-run"]
    assert main([*argv, "--set", "reflection=false", "--set", "max-repairs=0"]) == 0
    # One Feedback class and one round of two; episodes as the preset and the spec say.
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["calls"] == "3"
    assert lines["search"] == f"{2 * 5 * 500:,}"
    assert lines["held-out"] == f"{50 * 500:,}"


@pytest.mark.parametrize(("given", "calls"), [((), 1 + 3 * 3 + 2), (("--preset", "quick"), 6)])
def test_a_preset_wins_over_what_a_recording_was_made_with(
    capsys: pytest.CaptureFixture[str], given: tuple[str, ...], calls: int
) -> None:
    assert main(["--spec", "cartpole", "--model", "recorded", "--dry-run", *given]) == 0
    assert f"\ncalls        {calls};" in capsys.readouterr().out


@pytest.mark.slow
def test_a_dry_run_needs_no_model_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROMPTPO_MODEL", raising=False)
    argv = ["--spec", "noise_world_board_2", "--rounds", "1000"]
    started = time.process_time()
    assert main([*argv, "--track", "wandb", "--dry-run"]) == 0
    assert time.process_time() - started < 10
    assert "model        none is configured yet\n" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_options_stand_anywhere_and_a_spec_is_named_either_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quick = ["--set", "act_timeout=2"]
    assert main(["prompt", "cartpole", *quick]) == 0
    wanted = capsys.readouterr().out
    assert " 2 s" in wanted
    for argv in (
        ["prompt", *quick, "cartpole"],
        ["prompt", "--set=act_timeout=2", "--spec", "cartpole"],
        [*quick, "prompt", "cartpole"],
        ["--spec", "cartpole", "prompt", *quick],
        ["prompt", *quick, "--", "cartpole"],
    ):
        assert main(argv) == 0
        assert capsys.readouterr().out == wanted, argv


def test_a_run_needs_no_more_than_its_spec(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "env_specs" / "cartpole.py")
    for argv in (["cartpole"], ["run", "cartpole"], ["--spec", "cartpole"], ["run", file]):
        assert main(["--rounds", "2", "--target", "-1e3", *argv, "--dry-run"]) == 0
        assert capsys.readouterr().out.startswith("task         ")


def test_help_shows_the_commands_on_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == main(["--help"]) == main(["-h"]) == 0
    lines = capsys.readouterr().out.splitlines()
    lines, again = lines[: len(lines) // 3], lines[len(lines) // 3 :]
    assert lines * 2 == again and len(lines) <= 40
    assert all(len(line) < 80 for line in lines)
    assert all(any(line.split()[:1] == [name] for line in lines) for name in COMMANDS)
    options = {line.split()[0] for line in lines if line.startswith("  --")}
    assert len(options) == 11 and options <= parser()._option_string_actions.keys()


def test_help_of_every_command_fits_into_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in COMMANDS:
        assert main(["help", name]) == main([name, "--help"]) == main(["-h", name]) == 0
        out = capsys.readouterr().out
        assert out[: len(out) // 3] * 3 == out
        assert out.startswith("usage: promptpo")
        assert max(map(len, out.splitlines())) < 80
        if name in ("eval", "video", "list", "report", "view", "export", "compare"):
            assert "where runs lie (default: runs)" in " ".join(out.split())
    assert main(["eval", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "--test-episodes N held-out episodes to play (default: 50)" in words
    assert "What is not given is as it was in the run" in words


def test_help_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "settings"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name}=" in out for name in config.fields(RunConfig))
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"promptpo {promptpo.__version__}\n"


def test_help_costs_little_and_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from promptpo.__main__ import main\n"
        "sys.argv = ['promptpo', '--help']\n"
        "code = main()\n"
        "heavy = {'numpy', 'rich', 'litellm', 'gymnasium', 'mujoco', 'scipy', 'asyncio'}\n"
        "print(code, len(sys.modules), *heavy & set(sys.modules), file=sys.stderr)\n"
    )
    done = python("-c", script, cwd=tmp_path)
    code, modules, *heavy = done.stderr.split()
    assert heavy == []
    assert code == "0"
    assert int(modules) < 150  # half a millisecond each


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    process = started("prompt", "cartpole", cwd=tmp_path)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 141


def test_a_terminal_that_lacks_a_sign_is_no_error(tmp_path: Path) -> None:
    source = own_cartpole(('"""CartPole: keep', '"""Pôle → keep'))
    spec = tmp_path / "pole.py"
    spec.write_text(source, encoding="utf-8")
    done = command("prompt", spec, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert "P?le ? keep" in done.stdout


def test_prompt_prints_every_stage_and_the_settings_that_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["prompt", "cartpole"]) == 0
    out = capsys.readouterr().out
    for stage in ("feedback", "policy, round 1", "reflection", "repair"):
        assert f" {stage}" in out
    assert "class Observation" in out
    assert "gymnasium" not in out.lower()
    for part, words in {"action": "An int: 0", "system": "You are", "task": "# Task: "}.items():
        assert (
            main(["prompt", "cartpole", part]) == main(["prompt", part, "--spec", "cartpole"]) == 0
        )
        text = capsys.readouterr().out
        assert text.startswith(words) and text[: len(text) // 2].strip() in out
    assert main(["prompt", "cartpole", "repair"]) == 0
    assert out.endswith(capsys.readouterr().out)
    for value in ("act_timeout=7.5", "episode_timeout=99", "policy_lifetime=evaluation"):
        assert main(["prompt", "cartpole", "--set", value]) == 0
        assert capsys.readouterr().out != out
