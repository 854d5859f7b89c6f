"""Videos of a policy's held-out episodes, as MP4 and GIF, with a caption below the picture.

The same episodes are played again, the policy in its sandbox as always, in a process of its own
that needs no display. Needs ``pip install 'promptpo[video]'``.
"""

from promptpo.video.render import (
    Options,
    Watcher,
    add_strip,
    parse_episodes,
    render_policy,
    render_run,
)

__all__ = [
    "Options",
    "Watcher",
    "add_strip",
    "parse_episodes",
    "render_policy",
    "render_run",
]
