"""What a report shows of policies that learn before they act: values, outputs, errors."""

import re
import shutil
from pathlib import Path

import pytest
import scripted
from report_runs import HOSTILE

from promptpo.common.blocks import Details
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
    return preparing_section(load_run(learned))


def rows(table):
    return [dict(zip(table.columns, (c.text for c in row), strict=True)) for row in table.rows]


def policies(section):
    return [block for block in section.blocks if isinstance(block, Details)]


def test_predicted_stands_beside_real_and_a_failure_has_its_line(section):
    lqr, failed, repaired, last = rows(section.blocks[0])
    assert [lqr[name] for name in (
        "Policy", "Predicted return", "Mean return", "Difference", "Outcome", "Episodes"
    )] == ["r01_c01", "500", "500", "0", "", "4"]  # fmt: skip
    assert float(last["Difference"]) == pytest.approx(float(last["Mean return"]) - 20.5, abs=0.01)
    assert (repaired["Outcome"], repaired["Mean return"]) == ("prepared as r01_c01", "500")
    assert failed["Policy"] == "r01_c02" and failed["Outcome"].startswith("failed: ")
    details = policies(section)[1]
    error, printed = details.blocks
    assert (details.id, printed.body) == ("prepared-r01_c02", "so far so good")
    assert "line 5, in prepare" in error.text and error.text.endswith("Singular matrix")


def test_values_are_shown_by_kind_and_the_rest_is_in_a_file(section):
    *_, table = policies(section)[2].blocks
    values = {row["Value"]: (row["Kind"], row["Content"], row["Summary"]) for row in rows(table)}
    assert values["mass"][:2] == ("float", "1.23456789012345")
    assert values["steps"][:2] == ("int", "12")
    assert values["found"][:2] == ("bool", "True")
    assert values["grid"][0] == "array 3 \N{MULTIPLICATION SIGN} 4"
    assert values["grid"][1].splitlines()[1].strip() == "[0.5714, 0.7143, 0.8571, 1.    ],"
    assert (values["none"][2], values["mask"][2]) == ("empty", "15 of 20 true")
    _, first, summary = values["track"]
    assert first.startswith("[-1.    , -0.9933, -0.9866, ..., ")
    assert re.fullmatch(r"-1 to 1, mean .*; 1 not finite", summary)
    file = r"first 40 of 49 values, .* in candidates/r01_c03/prepared_[0-9a-f]{16}.bin$"
    assert len(values) == 40 and re.search(file, table.caption)


def test_hostile_values_are_no_markup_and_damaged_ones_are_said_to_be(learned, tmp_path):
    html = render_report(load_run(learned))
    assert HOSTILE not in html and html.count("<script>") == 1
    copied = Path(shutil.copytree(learned, tmp_path / "run"))
    for file in copied.glob("candidates/*/prepared_*"):
        file.write_bytes(b"nonsense")
    html = render_report(load_run(copied))
    assert html.count("computes them again") == 2
    assert "<caption>What it returned" not in html


def test_the_section_fits_and_can_be_read(learned, fits_and_can_be_read):
    fits_and_can_be_read(learned, "#preparing")
