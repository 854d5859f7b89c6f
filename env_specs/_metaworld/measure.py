"""Writes ``facts.json``: the data sheets of the tasks without a file of their own.

``python -m env_specs._metaworld.measure``
"""

from __future__ import annotations

import json
from pathlib import Path

from promptpo.spec import Task, load_spec

from ..family_metaworld import SHIPPED, members

_FILE = Path(__file__).with_name("facts.json")


def measured(member: str) -> str:
    """What the live environment of a task says."""
    task = Task.open(load_spec(f"metaworld:{member}"))
    assert task.spec.measured_facts  # noqa: S101 - the family's template
    try:
        return task.spec.measured_facts(task.env)
    finally:
        task.close()


if __name__ == "__main__":
    texts = {member: measured(member) for member in members() if member not in SHIPPED}
    _FILE.write_text(f"{json.dumps(texts, indent=1)}\n", encoding="utf-8")
