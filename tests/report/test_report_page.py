"""Reports of runs in every state a run can be in."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import scripted
from report_runs import HOSTILE, began_ago, cut_after

import promptpo
from promptpo.errors import RunError, UsageError
from promptpo.report import write_report
from promptpo.report.page import render_report
from promptpo.store.folder import RunFolder
from promptpo.store.run import load_run


def links(html):
    """Places of the page that its links lead to."""
    return set(re.findall(r'href="#([^"]+)"', html))


def ids(html):
    found = re.findall(r' id="([^"]+)"', html)
    assert len(found) == len(set(found))
    return set(found)


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", html, flags=re.S))


def test_a_run_leaves_its_report_one_file_that_asks_for_nothing(finished):
    html = (finished / "report.html").read_text()
    words = text_of(html)
    for told in (
        "mean return in every one of 3 episodes",
        "optimum",
        "2 failed, 2 of 2 rounds",
        "8 replies, replayed",
        "$0.00",
    ):
        assert told in words
    html = re.sub("/\\*!.*?\\*/|<script>.*</script>", "", html, flags=re.S)  # uPlot and its licence
    assert not re.search(r"(src|href)=[\"'](?!#|data:|best/policy\.py)", html)
    assert not re.search(r"url\(|@import|https?:", html)
    assert "default-src &#39;none&#39;" in html
    assert not re.search(r"\sstyle=|\son\w+=\"", re.sub(r"&lt;.*?&gt;", "", html))
    assert links(html) <= ids(html)
    assert HOSTILE not in html
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(1)") > 8


def test_plots_name_the_fields_of_the_observation_where_a_log_has_them(copied):
    html = (copied / "report.html").read_text()
    assert re.search(r"<figcaption>pole_angle <span>rad</span>", html)
    assert "<figcaption>action</figcaption>" in html

    def change(event):
        if event["type"] == "run":
            del event["spec"]["observation"]

    changed(copied, change)
    assert "<figcaption>observation[2]" in write_report(copied).read_text()


def test_runs_whose_candidates_all_fail_and_of_a_single_one(tmp_path):
    bad = scripted.policy("return 7")
    result, _ = scripted.run(tmp_path, scripted.replies([bad, bad]))
    html = (result.folder / "report.html").read_text()
    assert "no candidate got through its episodes" in html
    assert html.count('class="failure"') == 2
    alone, _ = scripted.run(tmp_path, scripted.replies([scripted.GOOD]), test_episodes=0)
    html = (alone.folder / "report.html").read_text()
    assert "by which it was chosen: optimistic. No held-out episodes were played" in html
    assert "winner before it" not in html


def changed(folder, change):
    """Rewrite the events of a run; ``change`` takes one as JSON."""
    log = folder / "events.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        change(line)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.slow
def test_a_search_without_a_model_speaks_of_no_calls_and_no_cost(tmp_path):
    settings = {"rounds": 2, "candidates": 2, "episodes": 2, "test_episodes": 2, "workers": 1}
    result = promptpo.optimize(
        "cartpole", method="random-search", out=tmp_path, selection_episodes=2, **settings
    )
    html = (result.folder / "report.html").read_text()
    words = text_of(html)
    assert f"{result.folder.name} · random-search · seed 0" in words
    assert not re.search(r"Cost|Tokens|replies|Repairs|Prompts|\$", words)
    assert '<th scope="col">Kind</th>' in html
    assert 'id="calls-1"' not in html
    assert 'id="feedback-1"' not in html
    assert links(html) <= ids(html)


def test_candidates_say_what_they_are_and_notes_are_shown_whatever_they_are(copied):
    notes = [("Hypothesis", "Lean."), ("Test 1", "It fell."), ("Test 2", "It stood.")]

    def change(event):
        if event["type"] == "candidate" and event["key"]["round"] == 2:
            event |= {"kind": "revision", "parents": ["r01_c02"]}
            event["notes"] = [{"title": "Why it was changed", "text": f"Because. {HOSTILE}"}]
        if event["type"] == "round" and event["round"] == 1:
            event["notes"] = [{"title": title, "text": text} for title, text in notes]

    changed(copied, change)
    html = write_report(copied).read_text()
    assert "<td>revision of r01_c02</td>" in re.sub(' data-[a-z]+="[^"]*"', "", html)
    assert "Why it was changed" in html and HOSTILE not in html
    words = text_of(html)
    assert "Hypothesis Lean." in words
    assert "Test 1 to 2 It fell. It stood." in words
    assert "Feedback on r01_c02" not in words


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_run_that_is_going_on(copied, rounds):
    cut_after(copied, rounds)
    lock = RunFolder(copied).lock()
    try:
        html = render_report(load_run(copied))
    finally:
        os.close(lock)
    assert 'class="status is-running"' in html
    assert html.count('<section class="round"') == rounds


def test_a_candidate_that_is_waited_for(copied):
    cut_after(copied, 1)
    with (copied / "events.jsonl").open("a") as log:
        key = {"role": "policy", "round": 2, "candidate": 1, "attempt": 0}
        log.write(json.dumps({"type": "prompt", "key": key, "messages": []}) + "\n")
    run = load_run(copied)
    html = render_report(run)
    assert "under way: 0 of 1 candidates are done" in html
    assert "no reply came" in html and "Now: " not in html
    run.carried = True
    html = render_report(run)
    assert "waiting for a reply" in html and "Now: waiting for 1 reply of recorded:" in html


def test_a_run_that_was_killed_says_how_to_go_on(copied):
    cut_after(copied, 1)
    words = text_of(render_report(load_run(copied)))
    assert "Stopped without an end: no process carries this run on; promptpo --resume" in words


def test_time_goes_on_until_a_run_has_ended_or_was_killed(copied):
    ended = load_run(copied)
    assert ended.elapsed == ended.info["seconds"]
    cut_after(copied, 1)
    began_ago(copied, 4000)
    killed = load_run(copied)
    assert killed.elapsed <= ended.elapsed + 0.1
    lock = RunFolder(copied).lock()
    running = load_run(copied)
    assert 4000 <= running.elapsed < 4060
    os.close(lock)


def test_a_half_written_last_line_is_left_out_and_a_first_one_is_one_clear_line(copied, tmp_path):
    cut_after(copied, 1)
    with (copied / "events.jsonl").open("ab") as log:
        log.write(b'{"type": "candi')
    assert len(load_run(copied).rounds) == 1
    for log in (b"", b'{"type": "ru'):
        (tmp_path / "events.jsonl").write_bytes(log)
        with pytest.raises(RunError, match=r"no run is recorded in it .it holds nothing"):
            write_report(tmp_path)


def test_what_cannot_be_read_is_left_out_and_said(copied):
    before = load_run(copied)
    with (copied / "events.jsonl").open("a") as log:
        log.write('{"type": "rollout", "digest": "1"}\n')
    (copied / "run.json").write_text("{")
    found = load_run(copied)
    assert (found.round_records, found.best, found.test) == (
        before.round_records, before.best, before.test,
    )  # fmt: skip
    html = write_report(copied).read_text()
    assert "of events.jsonl cannot be read (Object missing required field" in html
    assert "); <code>promptpo --resume" in html
    assert "run.json: not valid JSON" in html


def test_episodes_that_are_gone_or_broken_cost_the_plots_only(copied):
    (copied / "candidates" / "r01_c02" / "episodes.npz").write_bytes(b"PK not whole")
    shutil.rmtree(copied / "candidates" / "r02_c01")
    html = write_report(copied).read_text()
    assert "no trajectory plots" in html
    assert "<figcaption>reward" not in html


def test_an_unknown_price_is_unknown_and_long_texts_are_cut(copied):
    def change(event):
        for part in (event, event.get("config", {})):
            if part.get("model") is not None:
                part["model"] = "openai/secret-model"
        if event["type"] == "reply":
            event["cost"] = None if event["key"]["role"] == "feedback" else 0.01
            event["usage"] = {"prompt_tokens": 1000, "completion_tokens": 200}
            event["text"] = "long " * 400_000

    changed(copied, change)
    html = write_report(copied).read_text()
    assert "Cost unknown a price is not known; 8 replies" in text_of(html)
    assert "8 replies, 8,000 tokens in, 1,600 out" in text_of(html)
    assert len(html.encode()) < 5_000_000
    assert re.search(r"more characters in <code>prompts/r01_c02_policy.reply.md</code>", html)


def test_a_run_without_any_candidate_says_so(failed):
    words = text_of((failed / "report.html").read_text())
    assert "Failed: " in words
    assert "No candidate got through its episodes." in words


def test_videos_are_addressed_from_where_the_page_lies(copied, tmp_path):
    (copied / "videos").mkdir()
    (copied / "videos" / "test_best.mp4").write_bytes(b"")
    assert 'src="videos/test_best.mp4"' in write_report(copied).read_text()
    moved = write_report(copied, tmp_path / "page.html").read_text()
    assert 'src="runs/cartpole/20260101-000000/videos/test_best.mp4"' in moved
    with pytest.raises(UsageError, match=r"Is a directory; choose another file with --to"):
        write_report(copied, tmp_path)


def test_a_report_that_cannot_be_written_is_a_warning(tmp_path):
    script = scripted.replies([scripted.GOOD])
    events = []

    def block(event):
        events.append(event)
        if event.type == "run":
            Path(event.data["folder"], "report.html").mkdir()

    result = scripted.optimize(
        "cartpole",
        model=script.write(tmp_path / "replies.jsonl"),
        out=str(tmp_path / "runs"),
        on_event=block,
        **{"rounds": 1, "candidates": 1, "episodes": 1, "test_episodes": 1, "workers": 1},
    )
    assert result.status == "finished"
    (notice,) = [e.data["text"] for e in events if e.type == "notice"]
    assert notice.startswith("report.html could not be written: ")


def test_a_page_says_how_the_best_met_its_challengers(tmp_path):
    """The best of round 1 plays round 2's episodes too; its Feedback class is revised before it."""
    weak = scripted.policy("return int(obs.pole_angle > 0)")
    script = scripted.replies([weak, scripted.BAD], [scripted.GOOD, weak])
    revised = scripted.FEEDBACK.replace("steps, return", "steps in all, return")
    script.say(f"It got better.\n\n{scripted.fenced(revised)}", "reflection", 2)
    result, _ = scripted.run(tmp_path, script, episodes=5, selection_episodes=5, probe=1)
    html = (result.folder / "report.html").read_text()
    words = text_of(html)
    assert "Round 0" not in words
    assert "Zero action at every step" in words
    assert re.search(r"r02_c01 wins, .*?; against r01_c01: better, \+[\d.,]+ ± [\d.,]+", words)
    assert "same text as r01_c01" in words
    assert "Feedback class as revised before round 2" in words
    assert "How the others differ from r02_c01" in words
    assert "The best so far after each round" in words
    assert "Worst episode (return" in words
    assert "At the least" not in words  # CartPole defines no success
    assert links(html) <= ids(html)
