"""Any registered Gymnasium environment, described by its spaces and docstring."""

from __future__ import annotations

from promptpo.spec.drafts import registered_ids, registered_source

EXAMPLE = "CartPole-v1"
INSTALL = "gymnasium"


def members() -> list[str]:
    """Registered ids, those of other packages only where these are imported."""
    return registered_ids()


def source(member: str) -> str:
    """The text of an assembled spec. Raises UnknownMember or Unsuitable."""
    return registered_source(member, draft=False)
