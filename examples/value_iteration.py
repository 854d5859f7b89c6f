"""NoiseWorld by value iteration on counted transitions: ``prepare`` plans, the policy looks up.

Its author knows that a move comes off, stays or is thrown back to the start. The chances of each,
which cells end an episode, what sets the flags and when the goal pays are counted from what earlier
rounds recorded.
docs/learning.md runs it.
"""

import numpy as np

SIDE, HORIZON, PAYS = 10, 100, 1000.0
CELLS = SIDE * SIDE
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right


def aims():
    """The cell that each move from each cell aims at, (cells, 4); the cell itself at an edge."""
    row, column = np.divmod(np.arange(CELLS), SIDE)
    inside = [(np.clip(row + r, 0, 9), np.clip(column + c, 0, 9)) for r, c in MOVES]
    return np.stack([r * SIDE + c for r, c in inside], axis=1)


def states(columns, observations):
    """Cell (0 to 99) and number of flags (0 to 2) of each observation."""
    place = observations[:, [columns["agent_row"], columns["agent_column"]]] * (SIDE - 1)
    flags = observations[:, [columns["first_flag"], columns["second_flag"]]].sum(axis=1)
    return (place.round() @ [SIDE, 1]).astype(int), flags.astype(int)


def counted(keys, count, what):
    """How often each of ``count`` keys comes with each kind of outcome: (count, kinds)."""
    found = np.zeros((count, what.shape[1]))
    np.add.at(found, keys, what)
    return found


def prepare(data):
    labels = data.observations[0, data.columns["cell_labels"]].round().astype(int)
    goal = CELLS - 1
    cell, flags = states(data.columns, data.observations)
    after, flags_after = states(data.columns, data.next_observations)
    aim = aims()[cell, data.actions[:, 0].astype(int)]

    # Kinds of cells that nobody has ever entered are walls, or bad for all we know; the goal aside.
    walls = np.bincount(labels[after], minlength=8) == 0
    walls[labels[goal]] = False
    free = (aim != cell) & ~walls[labels[aim]]

    # A move comes off, stays, or is thrown back to the start. The less was seen of a cell, the more
    # its chances are drawn to those of its kind, put a little too high: what is new deserves a try.
    came = np.stack([after == aim, after == cell, (after != aim) & (after != cell)], axis=1)
    by_cell = counted(cell[free], CELLS, came[free])
    by_kind = counted(labels[cell[free]], 8, came[free]) + 0.5
    by_kind /= by_kind.sum(axis=1, keepdims=True)
    chances = by_cell + 5.0 * (0.9 * by_kind[labels] + [0.1, 0.0, 0.0])
    chances /= chances.sum(axis=1, keepdims=True)

    # Entering a cell: the flags after it, its reward, whether it ends the episode. A kind of cell
    # that was never entered with so many flags changes nothing; the goal is taken to pay.
    then, ends = np.tile(np.arange(3), (8, 1)), np.zeros((8, 3))
    pay = np.full((8, 3), -1.0)
    seen = np.zeros((8, 3), bool)
    key = labels[after], flags
    then[key], ends[key], pay[key], seen[key] = flags_after, data.terminals, data.rewards, True
    unseen = ~seen[labels[goal]]
    ends[labels[goal]], pay[labels[goal], unseen] = 1.0, PAYS

    plan, value = planned(labels, walls, chances, then, ends, pay)
    well_known = np.count_nonzero(by_cell.sum(axis=1) >= 20)
    print(f"{len(cell)} transitions; {well_known} cells were left 20 times or more")
    for label in np.unique(labels[cell]):
        print(f"label {label}: a move comes off, stays, is thrown back {by_kind[label].round(3)}")
    print("the goal pays with 0, 1, 2 flags, as far as is known:", *pay[labels[goal]])
    print(f"never entered: labels {np.flatnonzero(walls)}; expected return {value:.1f}")
    return {"plan": plan, "chances": chances, "predicted_return": value}


def planned(labels, walls, chances, then, ends, pay):
    """Finite-horizon value iteration: the best move by step and state, and the start's value."""
    aim, here = aims(), np.arange(CELLS)[:, None]
    aim = np.where(walls[labels[aim]], here, aim)
    sure = aim == here  # against a wall or the edge
    flags = np.arange(3)[:, None, None]
    outcomes = []  # chance, state, reward and going on, each (flags, cells, 4)
    for kind, target in enumerate((aim, np.broadcast_to(here, aim.shape), np.zeros_like(aim))):
        chance = np.where(sure, float(kind == 1), chances[:, kind, None])
        label, moved = labels[target], target != here
        state = np.where(moved, then[label, flags], flags) * CELLS + target
        reward = np.where(moved, pay[label, flags], -1.0)
        going_on = np.where(moved, 1.0 - ends[label, flags], 1.0)
        outcomes.append((chance, state, reward, going_on))
    value, plan = np.zeros(3 * CELLS), np.zeros((HORIZON, 3 * CELLS), int)
    for step in reversed(range(HORIZON)):
        brings = sum(p * (r + on * value[s]) for p, s, r, on in outcomes).reshape(-1, 4)
        plan[step], value = brings.argmax(axis=1), brings.max(axis=1)
    return plan, float(value[0])


class Policy:
    """Looks its move up in the plan that was made for what is left of the episode."""

    def __init__(self, prepared):
        self.plan = prepared["plan"]
        self.step = -1

    def act(self, obs):
        self.step += 1
        row, column = round(obs.agent_row * (SIDE - 1)), round(obs.agent_column * (SIDE - 1))
        flags = int(obs.first_flag + obs.second_flag)
        return int(self.plan[self.step, flags * CELLS + row * SIDE + column])
