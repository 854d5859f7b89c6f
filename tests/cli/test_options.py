"""Options: every setting is one, mistakes name the nearest, layers come in their order."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from own_cartpole import own_cartpole

import promptpo
from promptpo.cli import main
from promptpo.cli.parser import COMMANDS
from promptpo.cli.run import parser
from promptpo.run.options import fields, flag

ROOT = Path(promptpo.__file__).parents[1]
RUN = [sys.executable, "-m", "promptpo"]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


def error(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(argv)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err.strip()


def test_every_setting_is_an_option() -> None:
    text = parser().format_help()
    for name in fields():
        assert flag(name) in text
    for option in ("--preset", "--config", "--resume", "--dry-run", "--version"):
        assert option in text


def test_a_port_that_is_no_number_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = "promptpo: error: --port: must be a whole number, not 'abc'"
    assert error(capsys, "view", "--port", "abc") == (2, told)


def test_only_what_is_given_is_in_the_result() -> None:
    given = vars(parser().parse_args(["--rounds", "3", "--no-reflection", "--max-cost", "0.5"]))
    settings = {k: v for k, v in given.items() if k in fields()}
    assert settings == {"rounds": 3, "reflection": False, "max_cost": 0.5}


def test_reflection_can_be_turned_on_over_a_file() -> None:
    assert parser().parse_args(["--reflection"]).reflection is True


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--round", "3"], "unknown option '--round'; did you mean '--rounds'?"),
        (["--max_cost=3"], "unknown option '--max_cost'; did you mean '--max-cost'?"),
        (["--zzz"], "unknown option '--zzz'; see promptpo --help"),
        (["--bogus"], "unknown option '--bogus'; see promptpo --help"),
        (["eval", "latest", "--foo"], "unknown option '--foo'; see promptpo eval --help"),
        (["--sead", "1"], "unknown option '--sead'; did you mean '--seed'?"),
        (["--rounds", "three"], "--rounds: must be a whole number, not 'three'"),
        (["--rounds"], "--rounds: expected one argument"),
        (["--rounds", "0", "--spec", "cartpole"], "rounds must be at least 1, not 0"),
        (
            ["--rounds", "1" + "0" * 30, "--spec", "cartpole"],
            "rounds must be at most 1,000, not 10",
        ),
        (["--rounds", "9" * 5000], "--rounds: must be a whole number, not '999"),
        (["--workers", "1000", "--spec", "cartpole"], "workers must be at most"),
        (["--max-cost", "inf", "--spec", "cartpole"], "max_cost must be a finite number, not inf"),
        (["--target", "nan", "--spec", "cartpole"], "target must be a finite number, not nan"),
        (["--act-timeout", "1e400", "--spec", "cartpole"], "act_timeout must be a finite number"),
        (["--spec", "a\nb.py"], "spec must not hold control characters (a line break): 'a\\nb.py'"),
        (["view", "--port", "1" + "0" * 30], "--port: must be from 0 to 65535, not 1000"),
        (["view", "--port", "-1"], "--port: must be from 0 to 65535, not -1"),
        (["video", "x", "--fps", "nan"], "--fps: must be from 0.1 to 120, not nan"),
        (["video", "x", "--episodes", "9" * 5000], "--episodes: '999"),
        (["video", "x", "--episodes", "1001"], "nor a number from 1 to 1,000"),
        (["video", "x", "--size", "6\u0664x48"], "--size: write it as WIDTHxHEIGHT"),
        (["--preset", "papr"], "--preset: unknown preset 'papr'; did you mean 'paper'?"),
        (["--method", "promptp", "cartpole"], "unknown method 'promptp'; did you mean 'promptpo'?"),
        (["lst"], "'lst' is no command and no spec; did you mean 'list'?"),
        (["--seed", "1", "lsit"], "'lsit' is no command and no spec; did you mean 'list'?"),
        (["cartpol"], "'cartpol' is no command and no spec; did you mean the spec 'cartpole'?"),
        (["qqq"], "`promptpo help` shows the commands, `promptpo list` the specs"),
        (["--to", "x", "export"], "unknown option '--to'; see promptpo --help"),
        (["--", "list", "--help"], "no command and no spec"),
        (["help", "evl"], "unknown command 'evl'; did you mean 'eval'?"),
        (["cartpole", "--spec", "nim"], "two specs, 'cartpole' and --spec nim"),
        (["prompt", "cartpole", "nim"], "unexpected argument 'nim'; see promptpo prompt --help"),
        (["--target", "-1e3", "--seed"], "--seed: expected one argument"),
        ([], "no spec; name a spec file or a shipped spec"),
        (["prompt"], "name the spec whose prompts are to be shown"),
        (["eval"], "the following arguments are required: POLICY_OR_RUN"),
        (["export", "latest", "--how", "x"], "--how: it stands in a recording's header"),
        (["export", "latest", "--recording", "x", "--sb3"], "--recording: writes no policy"),
        (["prompt", "cartpole", "--act-timeuot", "2"], "did you mean '--act-timeout'?"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    code, line = error(capsys, *argv)
    assert code == 2
    assert line.startswith("promptpo: error: ")
    assert message in line


def test_each_kind_of_error_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert error(capsys, "--spec", "cartpol")[0] == 3
    assert error(capsys, "prompt", "nowhere.py")[0] == 3
    assert error(capsys, "--resume", "nowhere")[0] == 6
    assert error(capsys, "--resume", "latest")[0] == 6
    assert error(capsys, "eval", "nowhere")[0] == 6


def test_command_line_wins_over_file_and_file_over_preset(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "run.toml"
    file.write_text('spec = "cartpole"\nmodel = "openai/x"\nrounds = 3\ncandidates = 2\n')
    argv = ["--config", str(file), "--preset", "paper", "--rounds", "1", "--dry-run"]
    assert main([*argv, "--no-reflection", "--max-repairs", "0"]) == 0
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


@pytest.mark.parametrize(
    "argv",
    [
        ["prompt", "cartpole", "--act-timeout", "2"],
        ["prompt", "--act-timeout", "2", "cartpole"],
        ["prompt", "--act-timeout=2", "--spec", "cartpole"],
        ["--act-timeout", "2", "prompt", "cartpole"],
        ["--no-color", "--spec", "cartpole", "prompt", "--act-timeout", "2"],
        ["prompt", "--act-timeout", "2", "--", "cartpole"],
    ],
)
def test_options_stand_where_one_likes_and_a_spec_is_named_either_way(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "")  # put back after the test
    assert main(["prompt", "cartpole", "--act-timeout", "2"]) == 0
    wanted = capsys.readouterr().out
    assert main(argv) == 0
    assert capsys.readouterr().out == wanted


@pytest.mark.parametrize(
    "argv", [["cartpole"], ["run", "cartpole"], ["--spec", "cartpole"], ["run", "--spec=cartpole"]]
)
def test_a_run_needs_no_more_than_its_spec(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert main(["--rounds", "2", *argv, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("task         cartpole\n")


def test_a_spec_file_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ROOT / "env_specs" / "cartpole.py"), "--dry-run"]) == 0
    assert "task " in capsys.readouterr().out


def test_a_value_may_begin_with_a_dash() -> None:
    assert parser().parse_args(["--target", "-1e3", "cartpole"]).target == -1000


def test_no_color_is_told_in_the_way_that_libraries_know(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert main(["--no-color", "list", "minigrid"]) == main(["list", "minigrid", "--no-color"]) == 0
    assert os.environ["NO_COLOR"] == "1"


def test_help_shows_the_commands_on_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 40
    assert all(len(line) < 80 for line in lines)
    assert all(any(line.split()[:1] == [name] for line in lines) for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_command_is_the_help_of_the_command(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main(["help", command]) == main([command, "--help"]) == main(["-h", command]) == 0
    out = capsys.readouterr().out
    assert out[: len(out) // 3] * 3 == out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_fits_into_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: promptpo")
    assert max(map(len, out.splitlines())) < 80


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
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
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env=ENV, capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, modules, *heavy = done.stderr.split()
    assert heavy == []
    assert code == "0"
    assert int(modules) < 230  # 219 when this was written; half a millisecond each


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*RUN, "prompt", "cartpole"],
        cwd=tmp_path, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_a_terminal_that_lacks_a_sign_is_no_error(tmp_path: Path) -> None:
    source = own_cartpole(('"""CartPole: keep', '"""Pôle → keep'))
    spec = tmp_path / "pole.py"
    spec.write_text(source, encoding="utf-8")
    env = {**ENV, "PYTHONIOENCODING": "ascii"}
    argv = [*RUN, "prompt", str(spec)]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert b"P?le ? keep" in done.stdout


def test_prompt_prints_every_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompt", "cartpole"]) == 0
    out = capsys.readouterr().out
    for stage in ("feedback", "policy, round 1", "reflection", "repair"):
        assert f" {stage}" in out
    assert "class Observation" in out
    assert "gymnasium" not in out.lower()


@pytest.mark.parametrize(
    "option", [("--act-timeout", "7.5"), ("--episode-timeout", "99"),
               ("--policy-lifetime", "evaluation")]
)  # fmt: skip
def test_every_setting_that_prompt_takes_shows(
    capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    assert main(["prompt", "cartpole"]) == main(["prompt", "cartpole", *option]) == 0
    out = capsys.readouterr().out
    assert out[: len(out) // 2] != out[len(out) // 2 :]


def test_where_runs_lie_is_told_by_every_command_that_takes_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("eval", "video", "list", "report", "view", "export", "compare"):
        assert main([command, "--help"]) == 0
        assert "where runs lie (default: runs)" in " ".join(capsys.readouterr().out.split())


def test_eval_says_what_its_settings_mean_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "--test-episodes N held-out episodes to play (default: 50)" in words
    assert "What is not given is as it was in the run" in words
