"""A policy for ``noise_world_unknown`` that learns, within its life, what the labels mean.

    cd tests/env_specs/data
    promptpo eval learns_labels.py --spec noise_world_unknown --episodes 1000
    promptpo eval learns_labels.py --spec noise_world_unknown --episodes 1000 \\
        --set policy_lifetime=episode

The last line makes a new object for every episode, which then knows nothing.
"""

from collections import deque
from itertools import combinations

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
SIDE, HORIZON, LABELS = 6, 36, range(1, 9)
GOAL = (SIDE - 1, SIDE - 1)
UNKNOWN, FREE, BAD = 0, 1, 2


class Policy:
    """Goes where few labels are unknown, and remembers what became of it."""

    def __init__(self):
        self.kind = dict.fromkeys(LABELS, UNKNOWN)
        self.kind[0] = FREE
        self.throws = set()  # labels from which it was thrown back to the start
        self.begin()

    def begin(self):
        self.steps = 0
        self.last = None  # the cell that was left, the cell that was wanted, their labels

    def reset(self):
        """The last episode is over. Unless it was the goal or the time, the last cell was bad."""
        if self.last is not None and self.steps < HORIZON:
            _, wanted, _, label = self.last
            if wanted != GOAL and self.kind[label] == UNKNOWN:
                self.kind[label] = BAD
        self.begin()

    def act(self, obs):
        cells = obs.cell_labels
        here = (int(obs.agent_row), int(obs.agent_column))
        if self.last is not None:
            self.learn(here)
        wanted = self.next_cell(cells, here)
        self.last = (here, wanted, int(cells[here]), int(cells[wanted]))
        self.steps += 1
        return MOVES.index((wanted[0] - here[0], wanted[1] - here[1]))

    def learn(self, here):
        """What the last move tells of the labels of the cell that was left and the one wanted."""
        left, wanted, under, ahead = self.last
        if here == wanted:
            self.kind[ahead] = FREE
        elif here != left:
            self.throws.add(under)

    def next_cell(self, cells, here):
        """The first cell on the way with the fewest unknown labels, of those the shortest."""
        unknown = [label for label in LABELS if self.kind[label] == UNKNOWN]
        for count in range(len(unknown) + 1):
            ways = [
                way
                for tried in combinations(unknown, count)
                if (way := self.way(cells, here, tried)) is not None
            ]
            if ways:
                return min(ways, key=lambda way: self.length(cells, way))[0]
        return self.neighbours(here)[0]

    def length(self, cells, way):
        return len(way) + 5 * sum(int(cells[cell]) in self.throws for cell in way)

    def way(self, cells, here, tried):
        """The shortest way to the goal over free labels and those that are tried; None: no way."""
        before, waiting = {here: here}, deque([here])
        while waiting:
            cell = waiting.popleft()
            if cell == GOAL:
                way = []
                while cell != here:
                    way.append(cell)
                    cell = before[cell]
                return way[::-1]
            for to in self.neighbours(cell):
                label = int(cells[to])
                if to not in before and (self.kind[label] == FREE or label in tried):
                    before[to] = cell
                    waiting.append(to)
        return None

    def neighbours(self, cell):
        found = [(cell[0] + down, cell[1] + right) for down, right in MOVES]
        return [to for to in found if min(to) >= 0 and max(to) < SIDE]
