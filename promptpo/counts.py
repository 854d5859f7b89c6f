"""How many episodes a run plays: numbers of episodes make whole lives of a policy object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptpo.common import lives
from promptpo.errors import UsageError

if TYPE_CHECKING:
    from typing import Self

    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class EpisodeCounts:
    """What the settings of a run say of episodes, read; ``RunConfig`` declares them."""

    if TYPE_CHECKING:
        episodes: int | str
        selection_episodes: int | str
        test_episodes: int
        policy_lifetime: str | None
        evaluation_episodes: int | None

    def for_spec(self, spec: EnvSpec) -> Self:
        """The settings with what the spec says of a policy's lifetime where they do not.

        Raises UsageError where they give the length of a life, but no policy lives so long.
        """
        lifetime = self.policy_lifetime or spec.policy_lifetime
        if lifetime == "evaluation":
            episodes = self.evaluation_episodes or spec.evaluation_episodes
            return replace(self, policy_lifetime=lifetime, evaluation_episodes=episodes)
        if self.evaluation_episodes is not None and self.policy_lifetime is None:
            raise UsageError(
                "evaluation_episodes is for policies that live through several episodes; add"
                " --policy-lifetime evaluation"
            )
        return self

    @property
    def life(self) -> int:
        """Episodes that one policy object plays, of settings that are ``for_spec``."""
        return lives.life_of(vars(self))

    def whole(self, episodes: int) -> int:
        """So many episodes, rounded up to whole lives."""
        return lives.whole(episodes, self.life)

    @property
    def held_out(self) -> int:
        """Held-out episodes behind the reported score."""
        return self.whole(self.test_episodes)

    @property
    def first_episodes(self) -> int:
        """Search episodes that every candidate plays."""
        return self.whole(self.episodes if isinstance(self.episodes, int) else 5)

    @property
    def races(self) -> bool:
        """Whether candidates that cannot be told apart play more search episodes."""
        return not isinstance(self.episodes, int)

    @property
    def selection(self) -> tuple[int, int]:
        """Selection episodes that every finalist plays, and the most that one may play."""
        number = self.selection_episodes
        fewest, most = (number, number) if isinstance(number, int) else (20, 60)
        return self.whole(fewest), self.whole(most)
