"""The shipped CartPole as a spec of one's own: what a user copies, changes, and needs no more."""

from promptpo.spec.catalog import SHIPPED_FOLDER


def own_cartpole(*changes: tuple[str, str]) -> str:
    """Its text without what lies beside it (its measured facts), and with changes."""
    text = (SHIPPED_FOLDER / "cartpole.py").read_text(encoding="utf-8")
    beside = (
        ("from ._shared import machines\n\n", ""),
        ("    measured_facts=machines.CART.measured,\n", ""),
    )
    for old, new in (*beside, *changes):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
