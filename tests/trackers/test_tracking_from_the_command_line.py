"""--track as users give it: what is missing is said first, and nothing leaves the machine."""

import os
import socket
import struct
import subprocess
import sys
import threading

import pytest
from scripted import BAD, GOOD, policy, replies, run

from promptpo.cli import main
from promptpo.cli.run import parser
from promptpo.config import RunConfig
from promptpo.run.settings import build, load_toml

pytestmark = pytest.mark.slow

#: Falls later than BAD.
FAIR = policy("return int(obs.pole_angle > 0.0)")
SMALL = ("--spec", "cartpole", "--rounds", "1", "--test-episodes", "3", "--workers", "1")


def promptpo(tmp_path, *arguments, before="pass", **environment):
    """Run the command in a process of its own, with a home that knows no tracker."""
    script = f"import sys; {before}; from promptpo.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, *arguments, "--out", str(tmp_path / "runs")]
    known = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB_", "MLFLOW_"))}
    env = {**known, "HOME": str(tmp_path), **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def refusal(tmp_path, name, before="pass", **environment):
    """The line with which a run is refused that is to be tracked; no run begins."""
    done = promptpo(tmp_path, *SMALL, "--track", name, before=before, **environment)
    assert done.returncode == 2
    assert not (tmp_path / "runs").exists()
    (line,) = done.stderr.splitlines()
    return line


def test_a_missing_package_or_key_is_said_before_the_run_starts(tmp_path):
    packages = {"tensorboard": "tensorboardX", "wandb": "wandb", "mlflow": "mlflow"}
    for name, package in packages.items():
        line = refusal(tmp_path, name, f"sys.modules[{package!r}] = None")
        install = f"run: pip install 'promptpo[{name}]'"
        assert f"the package '{package}' is not installed; {install}" in line
    pytest.importorskip("wandb")
    remedy = "wandb has no API key; run: wandb login, or set WANDB_MODE=offline"
    assert remedy in refusal(tmp_path, "wandb")
    line = refusal(tmp_path, "wandb", WANDB_API_KEY="short")
    assert "wandb cannot be used: " in line and "set WANDB_MODE=offline" in line


def test_track_may_be_repeated_hold_several_and_stand_in_a_toml_file(tmp_path):
    given = vars(parser().parse_args(["--track", "wandb,mlflow", "--track", "tensorboard"]))
    assert RunConfig(track=given["track"]).trackers == ("wandb", "mlflow", "tensorboard")
    path = tmp_path / "run.toml"
    path.write_text('track = "tensorboard, wandb"\n')
    assert build(load_toml(path)).trackers == ("tensorboard", "wandb")


def test_videos_of_a_tracked_run_go_to_its_tracker(tmp_path):
    module = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pytest.importorskip("PIL")
    folder = run(tmp_path, replies([BAD]), track="tensorboard")[0].folder
    assert main(["video", str(folder), "--episodes", "worst", "--format", "gif"]) == 0
    (film,) = (folder / "videos").glob("*.gif")
    accumulator = module.EventAccumulator(str(folder / "tensorboard"))
    accumulator.Reload()
    (image,) = accumulator.Images(f"videos/{film.stem}")
    assert image.encoded_image_string == film.read_bytes()


class Proxy:
    """Stands between the machine and the network, and counts who wants to get out."""

    def __init__(self):
        self.asked = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection, _ = self._server.accept()
            with connection:
                self.asked.append(connection.recv(200))


def test_wandb_offline_has_the_run_and_no_tracker_wants_to_get_out(tmp_path):
    pytest.importorskip("wandb")
    proxy = Proxy()
    ways = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    names = "wandb,mlflow,tensorboard"
    outside = {"WANDB_MODE": "offline", **dict.fromkeys(ways, proxy.address)}
    model = replies([BAD, GOOD], [FAIR, FAIR.replace("0.0", "0.1")]).write(
        tmp_path / "replies.jsonl"
    )
    few = ("--candidates", "2", "--episodes", "2", "--set", "probe=0", "--model", model)
    first = promptpo(tmp_path, *SMALL, *few, "--track", names, **outside)
    assert first.returncode == 0, first.stderr
    assert "wandb" not in first.stderr
    second = promptpo(tmp_path, "--resume", "latest", "--rounds", "2", **outside)
    assert second.returncode == 0, second.stderr
    sessions = sorted((tmp_path / "runs").glob("cartpole/*/wandb/offline-run-*/*.wandb"))
    assert len(sessions) == 2
    one, two = (records(path) for path in sessions)
    assert one["id"] == two["id"]
    assert one["settings"]["spec"] == '"cartpole"'
    steps = [step for step, _ in one["candidate/mean_return"]]
    assert len(steps) == 2
    later = [step for step, _ in two["candidate/mean_return"]]
    assert len(later) == 2 + 1  # the best of round 1 again, with what it played in round 2
    assert steps[-1] < later[0]
    assert one["test/mean_return"] == [(steps[-1], 500.0)]
    assert one["summary"]["status"] == '"finished"'
    assert one["artifacts"] == ["policy"]
    assert proxy.asked == []


def records(path):
    """What a .wandb file holds: history by name as (env_steps, value), id, settings, summary."""
    from wandb.proto import wandb_internal_pb2

    found = {"summary": {}, "artifacts": []}
    for data in chunks(path.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            found["id"] = record.run.run_id
            found["settings"] = {i.key: i.value_json for i in record.run.config.update}
        elif kind == "summary":
            found["summary"] |= {i.key: i.value_json for i in record.summary.update}
        elif kind == "artifact":
            found["artifacts"].append(record.artifact.type)
        elif kind == "history":
            items = record.history.item
            row = {"/".join(i.nested_key) or i.key: float(i.value_json) for i in items}
            for name, value in row.items():
                found.setdefault(name, []).append((int(row["env_steps"]), value))
    return found


def chunks(data):
    """The records of a LevelDB log, which a .wandb file is after its first 7 bytes."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a full record, or the last part of one
            yield whole
            whole = b""
