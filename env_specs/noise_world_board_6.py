"""NoiseWorld, board 6: cross a 10 x 10 grid of labelled cells to a goal that pays on a condition.

The agent starts in row 0, column 0; the goal is in row 9, column 9. Each cell carries a label, an
integer that is the same for cells of the same kind. What a kind of cell does to moves is not told,
and chance may play a part; the labels are the same in every episode. Entering the goal ends the
episode, and so does entering a bad cell, at a great loss. The goal pays only under a condition that
is not told; two flags in the observation bear on it. An episode succeeds if the goal is entered
within 100 steps and pays.
"""

from promptpo.spec import Reference

from ._noise_world.flags import board_spec

SPEC = board_spec(
    6,
    random=Reference(-28879.8, 2.6e-07, deviation=45_258.0),
    optimum=Reference(954.81, 1.0),
)
