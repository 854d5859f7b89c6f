"""Programs that the language allows and that behave badly: each is a fault of its own kind."""

import numpy as np
import pytest
from restricted import programs

from sandbox import Box, Interface, Limits, ProgramError

ABUSE = programs("abuse")
INTERFACE = Interface(3, None, Box((2,)))
LIMITS = Limits(act_seconds=0.3, init_seconds=0.5, memory_mb=256)
GOOD = "class Policy:\n    def act(self, obs):\n        return [0.0, obs[0]]\n"


@pytest.mark.parametrize("title", ABUSE)
def test_abuse_ends_as_the_fault_that_it_is(host, title):
    _, _, expected = title.partition(" | ")
    observation = np.arange(3.0)
    kind, text = "none", ""
    try:
        with host.policy(ABUSE[title], INTERFACE, limits=LIMITS) as policy:
            policy.begin(0)
            action = policy.act(observation)
            assert action.shape == (2,)
            assert np.isfinite(action).all()
            text = policy.output
    except ProgramError as error:
        kind, text = error.kind, error.message + error.output

    assert expected == "any" or kind in expected.split(" or ")
    assert observation.tolist() == [0.0, 1.0, 2.0]
    assert len(text) < 10_000
    assert all(c.isprintable() or c in "\n\t" for c in text)


def test_the_host_works_on_after_all_of_it(host):
    with host.policy(GOOD, INTERFACE) as policy:
        policy.begin(0)
        assert policy.act(np.ones(3)).tolist() == [0.0, 1.0]
