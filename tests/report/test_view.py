"""The server of ``promptpo view``, over real connections."""

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
from pathlib import Path

import pytest

from promptpo.cli.runs import all_runs
from promptpo.errors import UsageError
from promptpo.view import PageServer

ROOT = Path(__file__).parents[2]
RUN = "/runs/cartpole/20260101-000000/"


@pytest.fixture
def server(copied):
    out = copied.parents[1]
    with PageServer(lambda: all_runs(out), out, 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def ask(server):
    def ask_(path, method="GET", host="localhost:1", **headers):
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        connection.request(method, path, headers={"Host": host} | headers)
        answer = connection.getresponse()
        answer.content = answer.read()
        connection.close()
        return answer

    return ask_


def test_head_names_the_state_that_the_page_shows_and_locks_it_down(ask, copied):
    state = ask(RUN, "HEAD")
    assert (state.status, state.content) == (200, b"")
    assert state.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in state.headers["Content-Security-Policy"]
    assert b"connect-src &#39;self&#39;" in ask(RUN).content
    assert state.headers["ETag"].replace('"', "").encode() in ask(RUN).content
    with (copied / "events.jsonl").open("a") as log:
        log.write('{"type": "notice", "text": "something new"}\n')
    assert ask(RUN, "HEAD").headers["ETag"] != state.headers["ETag"]
    assert b"something new" in ask(RUN).content


def test_a_folder_of_any_name_has_its_page(ask, copied):
    for name in (b"caf\xe9", b"50% off?#1", b"two\nlines", b"\xe2\x80\xae"):
        shutil.copytree(copied, copied.parents[1] / os.fsdecode(name) / os.fsdecode(name))
    paths = re.findall(r'href="(/runs/[^"]+)"', ask("/").content.decode())
    assert len(paths) == 5
    for path in paths:
        assert b"<!doctype html>" in ask(path).content.lower()
        assert ask(f"{path}best/policy.py").status == 200


def test_several_runs_of_a_task_are_compared_on_a_page_that_leads_to_each(ask, copied):
    assert b"/compare/" not in ask("/").content
    shutil.copytree(copied, copied.with_name("20260102-000000"))
    assert b'href="/compare/cartpole/"' in ask("/").content
    page = ask("/compare/cartpole/")
    assert page.status == 200
    assert set(re.findall(rb'href="(/runs/[^"]+)"', page.content)) == {
        RUN.encode(), b"/runs/cartpole/20260102-000000/",
    }  # fmt: skip
    assert page.headers["ETag"] == ask("/compare/cartpole/", "HEAD").headers["ETag"]
    assert ask("/compare/pong/").status == 404


def test_only_names_of_this_machine_are_answered(ask):
    names = {"localhost": 200, "127.0.0.1:8321": 200, "[::1]:8321": 200}
    for foreign in ("evil.example:8321", "localhost.evil.example", "10.0.0.5", "", "["):
        names[foreign] = 403
    assert {host: ask("/", host=host).status for host in names} == names
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert ask("/", method).status == 501


def test_nothing_else_of_the_machine_can_be_read(ask, copied):
    videos = copied / "videos"
    (videos / "folder.mp4").mkdir(parents=True)
    (videos / ".hidden.mp4").write_bytes(b"x")
    (videos / "link.mp4").symlink_to("/etc/passwd")
    os.mkfifo(videos / "pipe.mp4")
    inside = ["../../../../../../etc/passwd", "events.jsonl", "run.json", "best/policy.py/x"]
    inside += [f"videos/{name}" for name in (
        "", "../run.json", "..%2Frun.json", "%2e%2e/run.json", "link.mp4", ".hidden.mp4",
        "folder.mp4", "pipe.mp4", f"{'a' * 5000}.mp4",
    )]  # fmt: skip
    outside = ["/../../../etc/passwd", "/runs/", "/runs/cartpole/", "/runs/../cartpole/",
               "//etc/passwd", "/runs/cartpole/%00/", "/%ff%00%0a", "*"]  # fmt: skip
    for path in (*outside, *(f"{RUN}{name}" for name in inside)):
        assert ask(path).status == 404, path


def test_links_out_of_the_folder_of_runs_are_not_followed(ask, copied, finished):
    task = copied.parent
    (task / "20260102-000000").symlink_to(finished)
    (task / "20260103-000000").mkdir()
    (task / "20260103-000000" / "events.jsonl").symlink_to(finished / "events.jsonl")
    (task / "20260104-000000").symlink_to(copied)
    assert re.findall(r'href="(/runs/[^"]+)"', ask("/").content.decode()) == [RUN]
    for name in ("20260102-000000", "20260103-000000"):
        assert ask(f"/runs/cartpole/{name}/").status == 404


def test_files_are_served_whole_or_by_ranges(ask, copied):
    policy = ask(f"{RUN}best/policy.py")
    assert policy.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert b"class Policy" in policy.content
    (copied / "videos").mkdir()
    (copied / "videos" / "a.mp4").write_bytes(b"0123456789")
    parts = {"2-4": b"234", "7-": b"789", "5-99": b"56789", f"0-{'9' * 18}": b"0123456789"}
    for part, content in parts.items():
        answer = ask(f"{RUN}videos/a.mp4", Range=f"bytes={part}")
        assert (answer.status, answer.content) == (206, content)
    for header in ("bytes=8-3", "bytes=10-", "nonsense", f"bytes={'9' * 5000}-", "bytes=0-1,3-4"):
        answer = ask(f"{RUN}videos/a.mp4", Range=header)
        assert (answer.status, answer.content) == (200, b"0123456789")


def test_what_is_no_request_is_refused_without_a_trace(server, ask, capfd):
    refused = {
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n": b"400",
        b"GET / HTTP/\xb2.\xb3\r\n\r\n": b"400",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n": b"414",
        b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n": b"431",
        b"GET / HTTP/1.1\r\nHost: " + b"9" * 9000 + b"\r\n\r\n": b"403",
    }
    for words, status in refused.items():
        with socket.create_connection(server.server_address[:2], timeout=10) as connection:
            connection.sendall(words)
            assert status in connection.recv(1 << 16)
    for _ in range(3):  # clients that hang up
        connection = socket.create_connection(server.server_address[:2])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(f"GET {RUN} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        connection.close()
    assert ask(RUN).status == 200
    assert capfd.readouterr().err == ""


def test_a_damaged_run_does_not_hide_the_others(ask, copied):
    damaged = copied.with_name("20260102-000000")
    shutil.copytree(copied, damaged)
    (damaged / "events.jsonl").write_bytes(b"broken\n{}\n")
    (damaged / "run.json").write_bytes(b"broken")
    answer = ask("/runs/cartpole/20260102-000000/")
    assert answer.status == 500
    assert re.fullmatch(r"[^\n]+\n", answer.content.decode())
    assert RUN.encode() in ask("/").content


def test_a_single_run_is_where_the_address_leads(copied):
    server = PageServer(lambda: [copied], copied.parents[1], 0, only=True)
    with server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        connection.request("GET", "/")
        answer = connection.getresponse()
        connection.close()
        server.shutdown()
    assert (answer.status, answer.headers["Location"]) == (302, RUN)


def test_a_port_in_use_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"^http://127.0.0.1:{port}: .* --port .*$"):
            PageServer(list, tmp_path, port)


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
