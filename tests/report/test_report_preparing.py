"""What a report shows of policies that learn before they act: values, outputs, errors."""

import re
import shutil
from pathlib import Path

import pytest
import scripted
from report_runs import FAINT_TEXT, HOSTILE

from promptpo.report import write_report
from promptpo.report.page import render_report
from promptpo.report.preparing import preparing_section
from promptpo.store.run import load_run

LQR = (Path(__file__).parents[1] / "data" / "cartpole_lqr.txt").read_text()

FAILS = (
    """
import numpy as np

def prepare(data):
    print("so far so good")
    return {"gain": np.linalg.inv(np.zeros((4, 4)))}
"""
    + scripted.GOOD
)

OF_ALL_KINDS = (
    f"""
import numpy as np

def prepare(data):
    print({HOSTILE!r})
    print("é" * 3000)
    grid = np.arange(12.0).reshape(3, 4) / 7
    track = np.linspace(-1, 1, 300)
    track[5] = np.nan
    values = {{
        "mass": 1.23456789012345, "steps": 12, "found": True, "words": {HOSTILE!r},
        "grid": grid, "track": track, "mask": np.arange(20) > 4, "none": np.zeros((0, 3)),
        "predicted_return": 20.5,
    }}
    return {{**values, **{{f"z{{i}}": i for i in range(40)}}}}
"""
    + scripted.BAD
)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A regulator, a prepare that fails and is repaired, one with all kinds of values."""
    script = scripted.replies([LQR, FAILS, OF_ALL_KINDS, scripted.BAD])
    script.say(LQR, "repair", 1, 2, 1)
    folder = tmp_path_factory.mktemp("learned")
    settings = {"probe": 2, "max_repairs": 1, "prepare_time": 20.0, "early_stop": False}
    result, _ = scripted.run(folder, script, **settings)
    return result.folder


@pytest.fixture
def section(learned):
    return preparing_section(load_run(learned), 2000, "")


def rows(section):
    names = [name for name, _ in section.table.columns]
    return [dict(zip(names, (c.text for c in row), strict=True)) for row in section.table.rows]


def values(section):
    return {v.name: v for v in section.policies[2].values}


def test_a_run_that_does_not_prepare_has_no_section_of_it(finished):
    assert 'class="preparing"' not in (finished / "report.html").read_text()


def test_predicted_stands_beside_real(section):
    lqr, failed, repaired, last = rows(section)
    assert lqr["Policy"] == "r01_c01"
    assert (lqr["Predicted return"], lqr["Mean return"], lqr["Difference"]) == ("500", "500", "0")
    assert lqr["Outcome"] == ""
    assert lqr["Episodes"] == "4"
    assert float(last["Difference"]) == pytest.approx(float(last["Mean return"]) - 20.5, abs=0.01)
    assert failed["Policy"] == "r01_c02"
    assert repaired["Outcome"] == "prepared as r01_c01"
    assert repaired["Mean return"] == "500"


def test_a_failure_is_told_with_its_line_and_what_was_printed(section):
    failed = section.policies[1]
    assert failed.id == "r01_c02"
    assert "line 5, in prepare" in failed.error
    assert failed.error.endswith("Singular matrix")
    assert failed.output.body == "so far so good"
    assert failed.values == ()
    assert rows(section)[1]["Outcome"].startswith("failed: ")


def test_numbers_are_shown_as_they_are_arrays_by_their_shape(section):
    found = values(section)
    assert (found["mass"].kind, found["mass"].shown) == ("float", "1.23456789012345")
    assert (found["steps"].kind, found["steps"].shown) == ("int", "12")
    assert (found["found"].kind, found["found"].shown) == ("bool", "True")
    assert found["grid"].kind == "array 3 \N{MULTIPLICATION SIGN} 4"
    assert found["grid"].shown.splitlines()[1] == "0.5714, 0.7143, 0.8571, 1"
    assert found["none"].spread == "empty"


def test_of_a_long_array_the_first_numbers_and_the_range_are_shown(section):
    found = values(section)
    assert found["track"].shown.startswith("-1, -0.9933, ")
    assert found["track"].shown.endswith(", nan, ...")
    assert found["track"].spread.startswith("-1 to 1, mean ")
    assert found["track"].spread.endswith("; 1 not finite")
    assert found["mask"].spread == "15 of 20 true"


def test_of_many_values_and_a_long_output_the_rest_is_in_files(section):
    last = section.policies[2]
    assert (len(last.values), last.more) == (40, 9)
    assert re.fullmatch("candidates/r01_c03/prepared_[0-9a-f]{16}.bin", last.kept)
    assert len(last.output.body) == 2000
    assert last.output.cut > 0


def test_damaged_values_are_said_to_be(learned, tmp_path):
    copied = Path(shutil.copytree(learned, tmp_path / "run"))
    for file in copied.glob("candidates/*/prepared_*"):
        file.write_bytes(b"nonsense")
    run = load_run(copied)
    section = preparing_section(run, 2000, "")
    assert [(p.lost, p.values) for p in section.policies] == [(True, ()), (False, ()), (True, ())]
    assert "computes them again" in render_report([run])


def test_hostile_names_and_outputs_are_no_markup(learned):
    html = render_report([load_run(learned)])
    assert HOSTILE not in html
    assert html.count("<script>") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_section_fits_and_can_be_read(learned, open_page, width, scheme):
    viewport = {"width": width, "height": 900}
    page = open_page(write_report([learned]).as_uri(), viewport=viewport, color_scheme=scheme)
    for summary in page.locator("#preparing summary").all():
        summary.click()
    assert page.locator(".values code").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(FAINT_TEXT) == []
