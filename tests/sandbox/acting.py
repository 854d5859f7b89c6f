"""Policies that act a few times, and lines of text that stand deeper."""

import numpy as np

from sandbox import Box, Interface

ONE, TWO = Interface(1, None, Box((1,))), Interface(2, None, Box((2,)))


def indented(body, by):
    return "".join(f"{' ' * by}{line}\n" for line in body.splitlines())


def policy(body, more=""):
    """A policy whose ``act`` has this body; ``more`` stands in its class before that."""
    return f"class Policy:\n{indented(more, 4)}    def act(self, obs):\n{indented(body, 8)}"


def acts(host, source, interface=ONE, rows=None, seed=0, **options):
    """The actions of an episode, one for each row."""
    rows = [np.zeros(interface.observation_size)] if rows is None else rows
    with host.policy(source, interface, **options) as running:
        running.begin(seed)
        return [running.act(np.asarray(row)).tolist() for row in rows]
