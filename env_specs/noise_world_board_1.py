"""NoiseWorld, board 1: cross a 10 x 10 grid of labelled cells to the goal.

The agent starts in row 0, column 0; the goal is in row 9, column 9. Each cell carries a label, an
integer that is the same for cells of the same kind. What a kind of cell does to moves is not told,
and chance may play a part; the labels are the same in every episode. Entering the goal ends the
episode, and so does entering a bad cell, at a great loss. An episode succeeds if the goal is
entered within 100 steps.
"""

from promptpo.spec import Reference

from ._noise_world.specs import board_spec

SPEC = board_spec(
    1,
    random=Reference(-1858.3, 0.0081, deviation=13_172.9),
    optimum=Reference(974.91, 1.0),
)
