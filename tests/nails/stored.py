"""Runs of format 2, as the program wrote them: their log and run.json, in tests/data/format_2.

``tuned``: PromptPO on CartPole, two rounds of two scripted candidates, ``--tune``. ``r2po``: its
shipped recording. ``killed``: PromptPO's recording, killed in round 2. All with ``--seed 3
--set policy_seed=7 --selection-episodes 2 --test-episodes 3``.
"""

import gzip
import shutil
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "format_2"
STORED = ("tuned", "r2po", "killed")


def unpacked(name, out):
    """Return the folder of a stored run, put among the runs of ``out``; its replies beside them."""
    folder = out / "runs" / "cartpole" / name
    folder.mkdir(parents=True)
    shutil.copy(DATA / name / "run.json", folder)
    log = gzip.decompress((DATA / name / "events.jsonl.gz").read_bytes())
    (folder / "events.jsonl").write_bytes(log)
    (out / "replies.jsonl").write_bytes(log)
    return folder
