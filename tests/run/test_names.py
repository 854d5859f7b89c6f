"""Names of runs: by ``--name``, and tags."""

import shutil

import pytest
from scripted import GOOD, replies, run

import promptpo
from promptpo.cli import main, runs
from promptpo.errors import RunError, UsageError
from promptpo.store.run import load_run
from promptpo.store.summary import Summary


def test_a_run_is_found_by_its_name_where_it_has_it_alone(tmp_path, capsys):
    folder = run(tmp_path, replies([GOOD]), name="tall <b>pole</b>", tags="a, b")[0].folder
    out = tmp_path / "runs"
    assert load_run(folder).name == "tall <b>pole</b>"
    assert load_run(folder).label == "'tall <b>pole</b>' #a #b"
    assert "#b" in Summary.of(load_run(folder)).words
    assert runs.find("tall <b>pole</b>", out).resolve() == folder.resolve()
    assert main(["report", "tall <b>pole</b>", "--out", str(out)]) == 0
    page = (folder / "report.html").read_text()
    assert "&lt;b&gt;pole&lt;/b&gt;&#39; #a #b" in page
    assert "<b>pole" not in page
    shutil.copytree(folder, folder.with_name("copy"))
    with pytest.raises(RunError, match="2 runs have this name"):
        runs.find("tall <b>pole</b>", out)
    capsys.readouterr()


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "n" * 81])
def test_a_name_that_is_no_name_is_refused(name):
    with pytest.raises(UsageError, match="name"):
        promptpo.optimize("cartpole", model="recorded", name=name)
