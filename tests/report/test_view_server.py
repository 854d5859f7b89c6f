"""The server behind promptpo view, over real connections."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from promptpo.errors import UsageError
from promptpo.view import Site, open_server
from promptpo.view.connections import MOST_CONNECTIONS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(copied):
    with open_server(Site(lambda: [copied], "runs"), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def ask(server):
    def ask_(path, method="GET", host="localhost:1", **headers):
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        connection.putrequest(method, path, skip_host=True)
        sent = {"Host": host} | {k.replace("_", "-"): v for k, v in headers.items()}
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.content = answer.read()
        connection.close()
        return answer

    return ask_


@pytest.fixture
def run_path(copied):
    return f"/runs/cartpole/{copied.name}/"


def test_a_page_comes_with_headers_that_lock_it_down(ask, run_path):
    answer = ask(run_path)
    assert answer.status == 200
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert b"connect-src &#39;self&#39;" in answer.content


@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize("name", [b"caf\xe9", b"50% off?#1", b"two\nlines", b"\xe2\x80\xae"])
def test_a_folder_of_any_name_has_its_page_and_takes_no_other_down(copied, name, only):
    parent = copied.parent.with_name(os.fsdecode(name))
    odd = parent / os.fsdecode(name)
    parent.mkdir()
    shutil.copytree(copied, odd)
    site = Site(lambda: [odd] if only else [copied, odd], "runs", only=only)
    first = site.answer("/")
    paths = [first.location] if only else re.findall(r'href="(/runs/[^"]+)"', first.body.decode())
    assert len(paths) == 2 - only
    for path in paths:
        page = site.answer(path)
        assert page.status == 200
        assert b"<!doctype html>" in page.body.lower()
        assert site.answer(f"{path}best/policy.py").status == 200


def test_only_what_has_changed_is_sent_again(ask, run_path, copied):
    version = ask(run_path).headers["ETag"]
    again = ask(run_path, If_None_Match=version)
    assert (again.status, again.content) == (304, b"")
    with (copied / "events.jsonl").open("a") as log:
        log.write('{"type": "notice", "text": "something new"}\n')
    changed = ask(run_path, If_None_Match=version)
    assert changed.status == 200
    assert b"something new" in changed.content


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8321", "[::1]:8321", "127.8.8.8"])
def test_names_of_this_machine_are_answered(ask, host):
    assert ask("/", host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "localhost.evil.example", "10.0.0.5", "", "[x"]
)
def test_other_names_are_refused(ask, host):
    assert ask("/", host=host).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(ask, method):
    answer = ask("/", method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_head_is_get_without_a_body(ask, run_path):
    answer = ask(run_path, "HEAD")
    assert (answer.status, answer.content) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 10_000


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/runs/../cartpole/",
        "{run}../../../../../../etc/passwd",
        "{run}events.jsonl",
        "{run}run.json",
        "{run}videos/../run.json",
        "{run}videos/..%2Frun.json",
        "{run}videos/%2e%2e/run.json",
        "{run}videos/..mp4",
        "{run}videos/link.mp4",
        "{run}videos/.hidden.mp4",
        "{run}best/../run.json",
        "{run}best/policy.py/x",
        "//etc/passwd",
        "/runs/cartpole/%00/",
        "*",
    ],
)
def test_nothing_else_of_the_machine_can_be_read(ask, run_path, copied, path):
    (copied / "videos").mkdir()
    (copied / "videos" / ".hidden.mp4").write_bytes(b"x")
    (copied / "videos" / "link.mp4").symlink_to("/etc/passwd")
    assert ask(path.replace("{run}", run_path)).status == 404


def test_the_policy_is_plain_text(ask, run_path):
    answer = ask(f"{run_path}best/policy.py")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert b"class Policy" in answer.content


@pytest.mark.parametrize(
    ("header", "status", "content"),
    [
        ("bytes=2-4", 206, b"234"),
        ("bytes=7-", 206, b"789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=5-99", 206, b"56789"),
        ("bytes=8-3", 200, b"0123456789"),
        ("nonsense", 200, b"0123456789"),
        (f"bytes={'9' * 5000}-", 200, b"0123456789"),
        (f"bytes=0-{'9' * 5000}", 200, b"0123456789"),
        (f"bytes=-{'9' * 18}", 200, b"0123456789"),
        (f"bytes=0-{'9' * 18}", 200, b"0123456789"),
        ("bytes=\xb2-\xb3", 200, b"0123456789"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("bytes=--1", 200, b"0123456789"),
    ],
)
def test_videos_can_be_sought(ask, run_path, copied, header, status, content):
    (copied / "videos").mkdir()
    (copied / "videos" / "a.mp4").write_bytes(b"0123456789")
    answer = ask(f"{run_path}videos/a.mp4", Range=header)
    assert (answer.status, answer.content) == (status, content)


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing", "long"])
def test_what_is_no_file_by_now_is_not_waited_for(ask, run_path, copied, kind, monkeypatch):
    video = copied / "videos" / "a.mp4"
    video.parent.mkdir()
    make = {"folder": video.mkdir, "pipe": lambda: os.mkfifo(video)}
    make.get(kind, lambda: None)()
    # As if it had been a file when it was looked up.
    monkeypatch.setattr(Path, "is_file", lambda self: True)
    name = "a" * 5000 if kind == "long" else "a"
    assert ask(f"{run_path}videos/{name}.mp4").status == 404


def speak(server, words, wait=10):
    """What comes back on a connection that says just these bytes, and how long that takes."""
    started = time.monotonic()
    with socket.create_connection(server.server_address[:2], timeout=wait) as connection:
        connection.sendall(words)
        heard = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                heard += piece
    return heard, time.monotonic() - started


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/" + b"9" * 5000 + b".1\r\n\r\n", b"400"),
        (b"GET / HTTP/\xb2.\xb3\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n", b"431"),
        (b"BREW / HTTP/1.1\r\n\r\n", b"501"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nGET / HTT", b"403"),
        (b"GET / HTTP/1.1\r\nHost: " + b"9" * 9000 + b"\r\nConnection: close\r\n\r\n", b"403"),
        (b"GET /%ff%00%0a HTTP/1.0\r\nHost: localhost\r\n\r\n", b"404"),
    ],
)
def test_what_is_no_request_is_refused_at_once(server, capfd, words, status):
    heard, took = speak(server, words)
    assert heard.split()[1:2] == [status]
    assert took < 5
    assert capfd.readouterr().err == ""


def test_a_request_that_trickles_in_is_cut_off(server, monkeypatch, capfd):
    monkeypatch.setattr("promptpo.view.server._REQUEST_SECONDS", 0.3)
    with socket.create_connection(server.server_address[:2], timeout=10) as connection:
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - started < 8:
                connection.sendall(b"G")
                connection.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    assert connection.recv(100) == b""
                    break
    assert time.monotonic() - started < 5
    assert capfd.readouterr().err == ""


def test_so_many_connections_and_no_more(server):
    address = server.server_address[:2]
    idle = [socket.create_connection(address) for _ in range(MOST_CONNECTIONS)]
    while len(server._due) < MOST_CONNECTIONS:
        time.sleep(0.01)
    assert b" 503 " in speak(server, b"")[0]
    for connection in idle:
        connection.close()
    while server._due:
        time.sleep(0.01)
    request = b"GET /x HTTP/1.0\r\nHost: localhost\r\n\r\n"
    assert b" 404 " in speak(server, request)[0]


def test_a_page_that_cannot_be_made_is_a_line_and_no_traceback(ask, server, run_path, capfd):
    def fail(*_):
        raise RuntimeError("a\x1b[31m\nb")

    server.site.answer = fail
    answer = ask(run_path)
    assert (answer.status, answer.content) == (500, "RuntimeError: a\ufffd[31m b\n".encode())
    assert capfd.readouterr().err == ""


def test_a_client_that_hangs_up_leaves_no_trace(server, run_path, capfd):
    for _ in range(3):
        connection = socket.create_connection(server.server_address[:2])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(f"GET {run_path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        connection.close()
    while server._due:
        time.sleep(0.01)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("host", ["\xfc" * 300, "a b", "256.1.1.1"])
def test_an_address_that_is_none_is_one_line(host):
    with pytest.raises(UsageError, match="--port"):
        open_server(Site(list, ""), host, 0, public=True)


def test_a_run_that_cannot_be_read_does_not_hide_the_others(finished, copied):
    (copied / "events.jsonl").write_bytes(b"broken\n{}\n")
    (copied / "run.json").write_bytes(b"broken")
    site = Site(lambda: [copied, finished], "runs")
    assert site.answer(f"/runs/cartpole/{copied.name}/").status == 500
    listing = site.answer("/").body.decode()
    assert finished.name in listing


def test_a_single_run_is_where_the_address_leads(copied):
    answer = Site(lambda: [copied], "runs", only=True).answer("/")
    assert (answer.status, answer.location) == (302, f"/runs/cartpole/{copied.name}/")


def test_other_machines_are_let_in_only_on_request():
    with pytest.raises(UsageError, match="--public"):
        open_server(Site(list, ""), "0.0.0.0", 0)  # noqa: S104 - this is what is refused
    with open_server(Site(list, ""), "0.0.0.0", 0, public=True) as server:  # noqa: S104
        assert server.knows("192.168.1.7:80")
        assert not server.knows("evil.example")


def test_a_port_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = command("view", "--port", port)
    assert done.returncode == 2
    assert re.fullmatch(r"promptpo: error: http://127.0.0.1:\d+: .* --port .*\n", done.stderr)


def test_ctrl_c_ends_it_quietly(copied):
    process = subprocess.Popen(
        [sys.executable, "-m", "promptpo", "view", str(copied), "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def test_the_report_command_names_its_file(copied):
    (copied / "report.html").unlink()
    done = command("report", str(copied))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(copied / "report.html")
    assert (copied / "report.html").is_file()


def test_the_report_command_takes_several_runs_and_a_file(copied, failed, tmp_path):
    file = tmp_path / "all.html"
    done = command("report", str(copied), str(failed), "--to", str(file))
    assert done.returncode == 0, done.stderr
    assert file.is_file()


def test_a_report_that_cannot_be_written_is_one_line(copied):
    done = command("report", str(copied), "--to", "/proc/nowhere/x.html")
    assert done.returncode == 2
    assert re.fullmatch(r"promptpo: error: /proc/nowhere/x.html: .* --to\n", done.stderr)


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "promptpo", *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
def test_a_run_ends_with_naming_its_report(tmp_path):
    quick = ["--rounds", "1", "--candidates", "1", "--episodes", "1", "--test-episodes", "1"]
    done = command("--spec", "cartpole", "--model", "recorded", "--out", str(tmp_path), *quick)
    (page,) = tmp_path.glob("cartpole/*/report.html")
    assert re.search(rf"^report +{re.escape(str(page))}$", done.stdout, re.MULTILINE)
