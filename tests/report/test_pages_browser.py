"""What readers do with pages, in a real browser: plots, copying, filters, keys; axe."""

import re
import shutil
import subprocess

import numpy as np
import pytest
import scripted
from bench_folder import suite_of, whole
from report_runs import HOSTILE
from written_runs import written_run

from promptpo.comparison import Comparison
from promptpo.comparison.page import write_comparison_page
from promptpo.matrix.bench import write_comparison
from promptpo.report import write_report
from promptpo.store.folder import read_episodes
from promptpo.store.run import load_run

pytestmark = pytest.mark.slow

#: The version of axe-core that the pages are held against.
AXE = "axe-core@4.10.3"


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The source of axe-core, from npm."""
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("needs npm, which fetches axe-core: apt install npm")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(["npm", "pack", AXE], cwd=folder, check=False, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    if done.returncode:
        pytest.skip(f"npm pack {AXE}: {done.stderr.strip().splitlines()[-1:]}")
    (packed,) = folder.glob("*.tgz")
    shutil.unpack_archive(packed, folder)
    return (folder / "package" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A page on runs whose names, models and labels are hostile."""
    out = tmp_path_factory.mktemp("compared")
    runs = [
        written_run(out, seed=seed, model=model, name=HOSTILE[-53:], tags=HOSTILE,
                    search=(10 + seed, 50), test=[50.0 + seed, 60.0, 70.0 - seed, 65.0, 61.0])
        for model in (f"openai/{HOSTILE}", "ollama/b")
        for seed in (0, 1)
    ]  # fmt: skip
    runs.append(written_run(out, spec="other", successes=True, test=[60.0, 10.0, 70.0]))
    for run in runs:
        write_report(run)
    write_comparison_page(Comparison.of(runs), out / "page.html")
    return out / "page.html"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder, suite = tmp_path_factory.mktemp("bench"), suite_of()
    write_comparison(folder, suite, whole(folder, suite))
    return folder / "index.html"


@pytest.fixture
def pages(finished, compared, bench):
    return {"run": finished / "report.html", "runs": compared, "bench": bench}


@pytest.mark.parametrize("name", ["run", "runs", "bench"])
def test_axe_finds_no_serious_fault(pages, open_page, axe, name):
    for width, scheme in ((1440, "light"), (390, "dark")):
        view = {"viewport": {"width": width, "height": 1000}, "color_scheme": scheme}
        page = open_page(pages[name].as_uri(), **view)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        page.evaluate(f"{axe}; undefined")
        found = page.evaluate("axe.run().then((all) => all.violations)")
        told = [(v["id"], v["impact"], v["nodes"][0]["html"][:200]) for v in found]
        assert [t for t in told if t[1] in ("serious", "critical")] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_nothing_that_runs_are_called_is_markup(compared, open_page):
    """A dialog, a message of the content security policy or a request fails in ``open_page``."""
    page = open_page(compared.as_uri())
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() == 1
    assert HOSTILE in page.locator("table.runs").text_content()
    page = open_page((compared.parent / "toy" / "20260101-000000" / "report.html").as_uri())
    assert page.locator("img, iframe, object").count() == 0
    assert HOSTILE in page.locator(".facts").text_content()


@pytest.fixture
def plots(finished, open_page):
    """The plots of the best policy, drawn by the page's script, and its page."""
    page = open_page((finished / "report.html").as_uri(), viewport={"width": 1440, "height": 1000})
    plots = page.locator("#trajectories .plots")
    plots.scroll_into_view_if_needed()
    page.locator("#trajectories canvas").first.wait_for()
    return plots, page


def now(plots, name):
    """The values that a panel shows of the step."""
    panel = plots.locator("figure.panel", has=plots.page.get_by_text(name, exact=False)).first
    return panel.locator(".now").inner_text().split()


def test_the_pointer_and_the_slider_tell_the_true_values_of_a_step(plots, finished):
    plots, page = plots
    run = load_run(finished)
    file = finished / "candidates" / run.folder_of(run.best_trial) / "episodes.npz"
    best = max(read_episodes(file), key=lambda e: float(e.rewards.sum()))
    place = [f["name"] for f in run.header["spec"]["observation"]].index("pole_angle")
    slider = plots.get_by_role("slider")
    slider.focus()
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    assert plots.locator("output").inner_text() == "step 7"
    told = float(now(plots, "pole_angle")[0])
    wide = np.ptp(best.observations[:, place])
    assert abs(told - best.observations[7, place]) < 1e-3 * wide
    over = plots.locator(".u-over").nth(1)
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    step = int(plots.locator("output").inner_text().split()[1])
    assert abs(step - (len(best.rewards) - 1) / 2) < 0.05 * len(best.rewards) + 2
    told = float(now(plots, "pole_angle")[0])
    assert abs(told - best.observations[step, place]) < 1e-3 * wide


def test_all_panels_zoom_together_and_episodes_and_fields_are_chosen(plots):
    plots, page = plots
    ends = "[...document.querySelectorAll('#trajectories .panel')].filter((p) => !p.hidden).length"
    before = page.evaluate(ends)
    first = plots.locator(".u-over").first
    picture = "document.querySelectorAll('#trajectories canvas')[2].toDataURL()"
    whole = page.evaluate(picture)
    box = first.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 20, steps=4)
    page.mouse.up()
    page.wait_for_timeout(50)
    assert page.evaluate(picture) != whole  # another panel than the one that was dragged over
    page.mouse.move(0, 0)
    plots.get_by_role("button", name="Whole episode").click()
    shown = len(now(plots, "pole_angle"))
    plots.get_by_role("checkbox", name=re.compile("^worst")).uncheck()
    assert len(now(plots, "pole_angle")) == shown - 1
    plots.locator("summary", has_text="Fields").click()
    plots.get_by_role("checkbox", name="pole_angle").uncheck()
    assert page.evaluate(ends) == before - 1
    plots.get_by_role("checkbox", name="actions as histograms").check()
    assert now(plots, "action") == []
    plots.get_by_role("checkbox", name="one scale for all parts").check()
    assert page.evaluate(ends) == before - 1


def test_print_and_pages_without_scripts_show_the_plots_as_drawings(plots, finished, open_page):
    plots, page = plots
    assert not plots.locator(".traces").first.is_visible()
    page.emulate_media(media="print")
    assert plots.locator(".traces svg").first.is_visible()
    assert not plots.locator(".panels").is_visible()
    page = open_page((finished / "report.html").as_uri(), java_script_enabled=False)
    assert page.locator("#trajectories .traces svg").first.is_visible()
    assert page.locator("#trajectories .legend li").count() > 1
    assert page.locator("button:visible").count() == 0


def test_the_policy_is_copied_as_it_is(finished, open_page):
    url = (finished / "report.html").as_uri()
    page = open_page(url, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#policy button.copy").click()
    page.locator("#policy button", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == load_run(finished).policy.strip()


def test_runs_are_filtered_by_words_and_by_choices(compared, open_page):
    page = open_page(compared.as_uri())
    rows = page.locator("table.runs tbody tr:visible")
    assert rows.count() == 5
    page.get_by_label("Filter").fill("ollama/b")
    assert rows.count() == 2
    assert page.locator(".filters output").inner_text() == "2 of 5"
    page.get_by_label("Filter").fill("")
    page.get_by_label("Spec").select_option("other")
    assert rows.count() == 1
    page.get_by_label("Spec").select_option("")
    page.locator("table.runs th button", has_text="Mean return").click()
    cells = page.locator("table.runs tbody td[data-label='Mean return']")
    values = [float(v) for v in cells.evaluate_all("(all) => all.map((c) => c.dataset.sort)")]
    assert values == sorted(values, reverse=True)
    rows.filter(has_text="other").locator("a").click()
    page.locator("#glance").wait_for()


def test_the_keyboard_reaches_all_that_can_be_done(plots):
    plots, page = plots
    controls = 'a[href], button, input, select, summary, [tabindex="0"]'
    wanted = page.evaluate(
        f"[...document.querySelectorAll('{controls}')]"
        ".filter((e) => e.checkVisibility() && e.tabIndex >= 0).length"
    )
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0); window.reached = new Set()")
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        page.evaluate("reached.add(document.activeElement)")
    assert page.evaluate("reached.delete(document.body); reached.size") >= wanted


def test_lineage_tells_what_the_best_was_made_from(tmp_path, open_page):
    """The best of round 2 is a repair: its first attempt could not be compiled."""
    script = scripted.replies([scripted.BAD], ["class Policy:\n    def act(self, obs) return 1"])
    script.say(scripted.fenced(scripted.GOOD), "repair", 2, 1, 1)
    result, _ = scripted.run(tmp_path, script, max_repairs=1)
    page = open_page((result.folder / "report.html").as_uri())
    assert "repaired once" in page.locator("#lineage .items li").last.inner_text()
    page.locator("#lineage-table summary").click()
    assert page.locator("#lineage-table tbody tr").count() == 2
