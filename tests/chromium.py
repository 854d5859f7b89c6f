"""A real browser for tests of pages and videos."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start headless Chromium.

    Until it is closed an event loop runs in this thread, so that ``asyncio.run`` would fail: keep
    it open for the tests of one module at most.
    """
    if not CHROMIUM.is_file():
        pytest.skip(f"needs {CHROMIUM}: apt install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()
