import pytest
import scripted

#: Leans for about 40 steps, or lets the pole fall at once, by a draw that hangs on the episode.
UNEVEN = """
class Policy:
    def __init__(self):
        self.first = None

    def act(self, obs):
        if self.first is None:
            self.first = obs.cart_position
        if self.first > 0.02:
            return 0
        return int(obs.pole_angle > 0)
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of a run of CartPole whose best policy falls in some of 9 held-out episodes."""
    script = scripted.replies([UNEVEN])
    result, _ = scripted.run(tmp_path_factory.mktemp("video"), script, test_episodes=9)
    return result.folder
