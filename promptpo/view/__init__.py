"""``promptpo view``: the reports of runs on a local address, following runs that are going on."""

from __future__ import annotations

from promptpo.view.server import open_server
from promptpo.view.site import Site

__all__ = ["Site", "open_server"]
