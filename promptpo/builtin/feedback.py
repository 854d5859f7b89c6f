"""The Feedback class of a run without a language model: what every episode has, in few lines."""

from __future__ import annotations

from promptpo.builtin.spaces import Spaces

#: Numbers of the observation that are told of.
_TOLD = 12


def feedback(spaces: Spaces) -> str:
    """A class that tells how an episode went by its rewards and by some of what was seen."""
    texts = "".join(f'            "{n.text}": {n.text},\n' for n in spaces.read(_TOLD))
    return f'''import numpy as np


class Feedback:
    """Length, reward by quarters, and the course of some numbers of the observation."""

    def seen(self, obs):
        return {{
{texts}        }}

    def summarize_trajectory(self, traj):
        end = "ended by the task" if traj.terminated else "cut at the step limit"
        lines = [f"{{traj.length}} steps, {{end}}; return {{traj.total_reward:.4g}}"]
        quarters = [q for q in np.array_split(np.asarray(traj.rewards), 4) if len(q)]
        lines.append("mean reward by quarters: " + ", ".join(f"{{q.mean():.3g}}" for q in quarters))
        rows = [self.seen(obs) for obs in traj.observations]
        for name in rows[0]:
            course = np.array([row[name] for row in rows], dtype=float)
            lines.append(
                f"{{name}}: {{course[0]:.3g}} at first, {{course[-1]:.3g}} at last,"
                f" {{course.min():.3g}} to {{course.max():.3g}}"
            )
        return "\\n".join(lines)
'''
