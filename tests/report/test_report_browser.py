"""The page in a real browser, from disk and from the server."""

import itertools
import os
import threading
from pathlib import Path

import pytest
from report_runs import FAINT_TEXT, HOSTILE, cut_after, write_video

from promptpo.comparison import Comparison
from promptpo.comparison.page import write_comparison_page
from promptpo.report import write_report
from promptpo.store.folder import RunFolder
from promptpo.view import PageServer

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture
def serve():
    """Starts a server for some runs; returns its address, which leads to a single run's page."""
    servers = []

    def start(*folders):
        root = Path(os.path.commonpath([folder.parent.parent for folder in folders]))
        server = PageServer(lambda: folders, root, 0, only=len(folders) == 1)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return server.url

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(params=["disk", "server"])
def report(request, finished, serve, open_page):
    """The report of the finished run, opened both ways."""
    if request.param == "disk":
        return open_page((finished / "report.html").as_uri())
    return open_page(serve(finished))


def test_what_a_model_wrote_stays_text(report):
    assert report.locator("h1").inner_text().startswith("CartPole")
    assert report.locator(".figures strong").first.inner_text() == "500"
    assert report.locator("img, iframe, object").count() == 0
    assert report.locator("script").count() == 1
    report.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    for shown in ("#round-1 .source", "#round-1 .entries", "#round-2 .prose", "#r01_c03 pre"):
        assert HOSTILE in report.locator(shown).first.text_content(), shown
    assert HOSTILE in report.locator("#round-1 .strategy").inner_text()


def test_the_diff_opens_and_shows_both_sides(report):
    diff = report.locator("#diff-2")
    assert not diff.locator("table").is_visible()
    diff.locator("summary").click()
    assert diff.locator("table").is_visible()
    assert "Pushes towards where the pole is falling" in diff.locator(".new").all_inner_texts()[1]
    assert diff.locator("tr.changed, tr.removed, tr.added").count() > 2
    room = "(cells) => cells.map((cell) => getComputedStyle(cell).paddingLeft)"
    assert len(set(diff.locator(".old, .new").evaluate_all(room))) == 1


def test_on_a_phone_charts_fit_and_a_diff_is_one_column(finished, open_page):
    page = open_page((finished / "report.html").as_uri(), **PHONE)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chart = page.locator("#curve .chart").first
    assert chart.bounding_box()["width"] > 250
    assert chart.locator(".tick").first.evaluate("(e) => getComputedStyle(e).fontSize") == "12px"
    box = page.locator("#diff-2 .scroll")
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    same = page.locator("#diff-2 tr.same").first
    assert not same.locator(".old").is_visible()
    assert same.locator(".new").is_visible()
    assert page.locator("#diff-2 .removed .old, #diff-2 .changed .old").first.is_visible()


def test_a_table_sorts_by_a_click_and_by_the_keyboard_and_its_links_open(report):
    table = report.locator("#round-2 table.sortable").first
    names = table.locator("tbody th")
    before = names.all_inner_texts()
    header = table.locator("th", has_text="Mean return")
    header.locator("button").focus()
    report.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    assert names.all_inner_texts() == ["r02_c01", "r02_c02", "r02_c03"]
    report.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert names.all_inner_texts() == ["r02_c03", "r02_c02", "r02_c01"]
    table.locator("th", has_text="Candidate").locator("button").click()
    assert header.get_attribute("aria-sort") is None
    assert names.all_inner_texts() == before
    reply = report.locator("#r01_c02-text-1")
    assert not reply.is_visible()
    report.locator("#round-1 a", has_text="r01_c02").click()
    assert reply.is_visible()


def test_on_a_phone_a_table_of_runs_fits(finished, failed, open_page, tmp_path):
    phone = {"viewport": {"width": 375, "height": 812}}
    several = tmp_path / "page.html"
    write_comparison_page(Comparison.of([finished, failed]), several)
    page = open_page(several.as_uri(), **phone)
    box = page.locator(".scroll:has(.stacked)").first
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    row = box.locator("tbody tr", has_text="finished")
    shown = row.evaluate(
        "(row) => [...row.cells].filter((cell) => cell.checkVisibility()).map((cell) =>"
        " [getComputedStyle(cell, '::before').content, cell.innerText])"
    )
    assert shown[0] == ["none", finished.name]
    assert dict(shown)['"Mean return "'].startswith("500")
    assert all(value and label != "none" for label, value in shown[1:])
    box.locator("button", has_text="Status").click()
    assert "failed" in box.locator("tbody tr").first.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(finished, open_page, scheme):
    page = open_page((finished / "report.html").as_uri(), color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert page.evaluate(FAINT_TEXT) == []


def test_it_reads_without_javascript_by_the_keyboard_and_in_print(finished, open_page):
    page = open_page((finished / "report.html").as_uri(), java_script_enabled=False)
    page.locator("#diff-2 summary").click()
    assert page.locator("#diff-2 table").is_visible()
    assert page.locator("table.sortable button").count() == 0
    page = open_page((finished / "report.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.locator("h1").count() == 1
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("svg[role]:not(:has(> title))").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#diff-2 table").is_visible()
    assert not page.locator("#r01_c02-text-1").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.locator("#diff-2 table").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_videos_play_beside_the_page_and_inside_it_below_free_captions(
    copied, open_page, serve, tmp_path
):
    write_video(copied / "videos" / "best_seed7.mp4")
    write_report(copied)
    alone = write_report(copied, tmp_path / "alone" / "page.html", inline_videos=True)
    for url in ((copied / "report.html").as_uri(), serve(copied), alone.as_uri()):
        page = open_page(url)
        page.wait_for_function("document.querySelector('video').readyState >= 2", timeout=20_000)
    assert page.locator("video").get_attribute("src").startswith("data:video/mp4")
    assert page.locator(".film figcaption").inner_text() == "best, seed 7"
    box = page.locator("video").bounding_box()
    assert box["height"] - box["width"] > 70  # the picture is a square
    page.emulate_media(media="print")
    assert not page.locator(".film").is_visible()


def test_a_run_that_goes_on_is_followed_without_losing_the_place(copied, serve, open_page):
    rest = cut_after(copied, 1)
    lock = RunFolder(copied).lock()
    page = open_page(serve(copied), viewport={"width": 1200, "height": 400})
    assert page.locator(".status").inner_text() == "running"
    assert page.locator("section.round").count() == 1
    page.locator("#calls-1 > summary").click()
    page.evaluate("document.querySelector('#curve').scrollIntoView()")
    place = page.locator("h2", has_text="Learning curve").bounding_box()["y"]
    with (copied / "events.jsonl").open("ab") as log:
        log.write(rest)
    page.locator("#round-2").wait_for(timeout=60_000)
    assert page.locator("#r01_c02").is_visible()
    moved = page.locator("h2", has_text="Learning curve").bounding_box()["y"] - place
    assert abs(moved) < 20
    os.close(lock)


def test_the_list_of_runs_leads_to_each(finished, failed, serve, open_page):
    page = open_page(serve(finished, failed))
    assert page.locator("tbody th").count() == 2
    page.locator("tbody tr", has_text="finished").locator("a").click()
    page.locator("#glance").wait_for()
    page.go_back()
    page.locator("tbody tr", has_text="failed").locator("a").click()
    assert "failed" in page.locator(".status").inner_text()
