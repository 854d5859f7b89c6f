import shutil

import pytest
import scripted
from chromium import open_browser
from report_runs import CRASH, FAINT_TEXT, HOSTILE, HOSTILE_FEEDBACK, HOSTILE_POLICY

from promptpo.errors import PromptPOError
from promptpo.report import write_report


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run of two rounds of three: hostile texts everywhere, one failure in each round."""
    script = scripted.replies(
        [scripted.BAD, HOSTILE_POLICY, CRASH],
        [scripted.GOOD, scripted.BAD, "Just words."],
        feedback=HOSTILE_FEEDBACK,
    )
    script.say(f"It got better. {HOSTILE}", "reflection", 2)
    result, _ = scripted.run(tmp_path_factory.mktemp("finished"), script)
    return result.folder


@pytest.fixture
def copied(finished, tmp_path):
    """The finished run again, to be changed."""
    folder = tmp_path / "runs" / "cartpole" / "20260101-000000"
    shutil.copytree(finished, folder)
    return folder


@pytest.fixture(scope="session")
def failed(tmp_path_factory):
    """A run that ended with an error before it had any candidate."""
    path = tmp_path_factory.mktemp("failed")
    script = scripted.Replies().say(scripted.FEEDBACK, "feedback").say("-", "reflection", 2)
    with pytest.raises(PromptPOError):
        scripted.optimize(
            "cartpole",
            model=script.write(path / "replies.jsonl"),
            out=str(path / "runs"),
            workers=1,
        )
    (folder,) = (path / "runs" / "cartpole").iterdir()
    return folder


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


class Watched:
    """A page, and everything about it that should not be."""

    def __init__(self, page, allowed):
        self.page = page
        self.trouble = []
        page.on("console", lambda message: self.trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        page.route("**/*", lambda route: self._check(route, allowed))

    def _check(self, route, allowed):
        if route.request.url.startswith(allowed):
            route.continue_()
        else:
            self.trouble.append(f"request: {route.request.url}")
            route.abort()


@pytest.fixture
def open_page(browser):
    """Opens an address in a new window; whatever goes wrong there fails the test."""
    opened = []

    def open_(url, **context):
        window = browser.new_context(**context)
        watched = Watched(window.new_page(), tuple({url.split("/runs/")[0], "file:///", "data:"}))
        opened.append((window, watched))
        watched.page.goto(url)
        return watched.page

    yield open_
    for window, watched in opened:
        window.close()
        assert watched.trouble == []


@pytest.fixture
def fits_and_can_be_read(open_page):
    """Opens a section of a run's page, wide and narrow, light and dark."""

    def check(folder, section):
        url = write_report(folder).as_uri()
        for width, scheme in ((400, "dark"), (1400, "light")):
            viewport = {"width": width, "height": 900}
            page = open_page(url, viewport=viewport, color_scheme=scheme)
            for summary in page.locator(f"{section} summary").all():
                summary.click()
            assert page.locator(f"{section} .is-code").first.is_visible()
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            assert page.evaluate(FAINT_TEXT) == []

    return check
