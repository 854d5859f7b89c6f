"""The specs in ``examples/`` hold, and a policy can be scored on them."""

import re
from pathlib import Path

import pytest

from promptpo.checks import QUICK, check_spec, open_replays
from promptpo.cli import main
from promptpo.spec import load_spec

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
THERMOSTAT = Path(__file__).parent.parent / "examples" / "thermostat.py"

POLICY = '''
class Policy:
    """Hold the lower edge of the comfortable band."""

    def act(self, obs):
        return [3.0 * (obs.comfort[0] + 0.5 - obs.indoor) + 1.0]
'''


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_passes_the_quick_check(path):
    spec = load_spec(str(path))
    with open_replays([str(path)]) as replays:
        findings = list(check_spec(spec, QUICK, replays))
    assert [f for f in findings if f.failed] == []
    assert not any("states none" in f.detail for f in findings), "a reference is not stated"


def test_a_thermostat_policy_beats_the_zero_action_in_the_sandbox(tmp_path, capsys):
    policy = tmp_path / "policy.py"
    policy.write_text(POLICY)
    arguments = ["--spec", str(THERMOSTAT), "--episodes", "5", "--workers", "1"]
    assert main(["eval", str(policy), *arguments]) == 0
    mean = re.search(r"^return +(-?[\d.]+)", capsys.readouterr().out, re.MULTILINE)
    assert mean is not None
    assert float(mean[1]) > -100.0, "zero actions score -189"
