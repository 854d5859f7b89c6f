"""Rewards of the Meta-World tasks in which nothing is grasped: buttons, handles, doors, windows.

Each is metaworld 3.1.1's own ``compute_reward``, written anew over the fields of an observation.
The specs call it ``reward``, ``after`` is their ``next_observation``, and ``object_`` in the name
of a field is what the task's object is called.
"""

from __future__ import annotations

import numpy as np

from .shaping import Observation, distance, gaussian_tolerance, hamacher_product, tolerance


def button_press_topdown(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 5 for closed fingers near the button; while they are within 0.03 m, up to 5 for pressing.
    """
    button, tips = after.object_position, after.fingertip_position
    start = distance(button, after.fingertip_start)
    near = tolerance(distance(button, tips), bound=0.01, margin=start)
    total = 5.0 * hamacher_product(1.0 - after.gripper_opening, near)
    if distance(button, tips) <= 0.03:
        left = abs(float(after.goal_position[2] - button[2]))
        total += 5.0 * tolerance(left, bound=0.005, margin=0.0935)
    return total


def button_press_topdown_wall(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 5 for open fingers near the button; while they are within 0.03 m, up to 5 for pressing.
    """
    button, tips = after.object_position, after.fingertip_position
    start = distance(button, after.fingertip_start)
    near = tolerance(distance(button, tips), bound=0.01, margin=start)
    total = 5.0 * hamacher_product(after.gripper_opening, near)
    if distance(button, tips) <= 0.03:
        left = abs(float(after.goal_position[2] - button[2]))
        total += 5.0 * tolerance(left, bound=0.005, margin=0.0935)
    return total


def button_press_wall(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Far from the button, up to 1.3 for coming near with closed fingers; within 0.07 m, 2 and up to
    4 for open fingers and up to 4 for pressing.
    """
    button, tips = after.object_position, after.fingertip_position
    start = distance(button, after.fingertip_start)
    near = tolerance(distance(button, tips), bound=0.01, margin=start)
    if distance(button, tips) > 0.07:
        return 2.0 * hamacher_product((1.0 - after.gripper_opening) / 2.0, near)
    left = abs(float(after.goal_position[1] - button[1]))
    pressed = tolerance(left, bound=0.005, margin=0.0935)
    return float(2.0 + 2.0 * (1.0 + after.gripper_opening) + 4.0 * pressed**2)


def coffee_button(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 2 for open fingers near the button; while they are within 0.05 m, up to 8 for pressing.
    """
    button, tips = after.object_position, after.fingertip_position
    start = distance(button, after.fingertip_start)
    near = tolerance(distance(button, tips), bound=0.05, margin=start)
    total = 2.0 * hamacher_product(after.gripper_opening, near)
    if distance(button, tips) <= 0.05:
        left = abs(float(after.goal_position[1] - button[1]))
        total += 8.0 * tolerance(left, bound=0.005, margin=0.03)
    return total


def dial_turn(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10: for being at the dial, closing, and having turned it.

    All three must be there at once. ``push`` is where the fingertips belong: beside the dial's
    mark, above it.
    """
    offset = np.array([0.05, 0.02, 0.09])
    dial, goal = after.object_position, after.goal_position
    push, first_push = dial + offset, after.object_start + offset
    turned = tolerance(
        distance(dial, goal), bound=0.07, margin=abs(distance(first_push, goal) - 0.07)
    )
    margin = abs(distance(first_push, after.fingertip_start) - 0.005)
    away = distance(push, after.fingertip_position)
    at_dial = gaussian_tolerance(away, bound=0.005, margin=margin)
    closing = min(max(float(action[3]), 0.0), 1.0)
    return 10.0 * hamacher_product(hamacher_product(at_dial, closing), turned)


def door_close(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 3 for fingertips near the goal and up to 6 for the handle near it; 10 within 0.05 m.
    """
    handle, goal = after.object_position, after.goal_position
    left = distance(handle, goal)
    if left < 0.05:
        return 10.0
    margin = distance(np.array([-0.5, 0.6, 0.2]), handle) + 0.1
    away = distance(after.fingertip_position, goal)
    hand = gaussian_tolerance(away, bound=0.0125, margin=margin)
    return 3.0 * hand + 6.0 * gaussian_tolerance(left, bound=0.05, margin=0.08**0.5)


def door_lock(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    0.2 for open fingers, up to 2 once the far finger pad is within 0.01 m of the lock (x and z
    weigh less than y); up to 8 for the lock's height.
    """
    lock = after.object_position
    away = float(np.linalg.norm((lock - after.far_pad_position) * np.array([0.25, 1.0, 0.5])))
    near = tolerance(away, bound=0.01, margin=away)
    left = abs(float(after.goal_position[2] - lock[2]))
    locked = tolerance(left, bound=0.005, margin=0.1)
    return 2.0 * hamacher_product(after.gripper_opening, near) + 8.0 * locked


def door_unlock(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 2 for the hand behind and below the lock, up to 8 for pushing the lock to the goal's x.
    """
    scale, offset = np.array([0.25, 1.0, 0.5]), np.array([0.0, 0.055, 0.07])
    lock = after.object_position
    away = float(np.linalg.norm((after.hand_position + offset - lock) * scale))
    start = after.fingertip_start + offset - after.hinge_position
    ready = tolerance(away, bound=0.02, margin=float(np.linalg.norm(start * scale)))
    left = abs(float(after.goal_position[0] - lock[0]))
    return 2.0 * ready + 8.0 * tolerance(left, bound=0.005, margin=0.1)


def drawer_close(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10; 10 once the handle is within 0.065 m of the goal.

    Before that for being at the handle, closing the fingers and having pushed, all at once.
    """
    handle, start, goal = after.object_position, after.object_start, after.goal_position
    left = distance(handle, goal)
    if left <= 0.065:
        return 10.0
    pushed = tolerance(left, bound=0.05, margin=abs(distance(start, goal) - 0.05))
    margin = abs(distance(start, after.fingertip_start) - 0.005)
    away = distance(handle, after.fingertip_position)
    at_handle = gaussian_tolerance(away, bound=0.005, margin=margin)
    closing = min(max(float(action[3]), 0.0), 1.0)
    return 10.0 * hamacher_product(hamacher_product(at_handle, closing), pushed)


def faucet_close(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 4 for fingertips at the handle, up to 6 for turning it; 10 within 0.07 m of the goal.
    """
    handle, goal = after.object_position, after.goal_position
    base = goal + np.array([0.175, 0.0, -0.125])
    left = distance(handle, goal)
    if left <= 0.07:
        return 10.0
    turned = tolerance(left, bound=0.07, margin=distance(base, goal) - 0.07)
    margin = abs(distance(base, after.fingertip_start) - 0.01)
    away = distance(handle, after.fingertip_position)
    return 4.0 * gaussian_tolerance(away, bound=0.01, margin=margin) + 6.0 * turned


def faucet_open(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10.

    Up to 4 for fingertips at the handle's side, up to 6 for turning it; 10 within 0.07 m of the
    goal.
    """
    goal = after.goal_position
    side = after.object_position + np.array([-0.04, 0.0, 0.03])
    base = goal + np.array([-0.175, 0.0, -0.125])
    left = distance(side, goal)
    if left <= 0.07:
        return 10.0
    turned = tolerance(left, bound=0.07, margin=distance(base, goal) - 0.07)
    margin = abs(distance(base, after.fingertip_start) - 0.01)
    away = distance(side, after.fingertip_position)
    return 4.0 * gaussian_tolerance(away, bound=0.01, margin=margin) + 6.0 * turned


def handle_press(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10; 10 once the handle's height is within 0.02 m.

    Before that for fingertips at the handle and having pressed it, both at once.
    """
    handle, start, goal = after.object_position, after.object_start, after.goal_position
    left = abs(float(handle[2] - goal[2]))
    if left <= 0.02:
        return 10.0
    pressed = tolerance(left, bound=0.02, margin=abs(abs(float(start[2] - goal[2])) - 0.02))
    margin = abs(distance(start, after.fingertip_start) - 0.02)
    away = distance(handle, after.fingertip_position)
    return 10.0 * hamacher_product(tolerance(away, bound=0.02, margin=margin), pressed)


def lever_pull(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10: for the hand below the lever, and the lever raised.

    Both must be there at once; x and z of the hand weigh 4 times as much as y.
    """
    scale, offset = np.array([4.0, 1.0, 4.0]), np.array([0.0, 0.055, 0.07])
    lever, goal = after.object_position, after.goal_position
    start = goal + np.array([0.0, -0.2, -0.2])
    away = float(np.linalg.norm((after.hand_position + offset - lever) * scale))
    margin = float(np.linalg.norm((after.fingertip_start + offset - start) * scale))
    ready = tolerance(away, bound=0.02, margin=margin)
    raised = tolerance(distance(lever, goal), bound=0.04, margin=distance(start, goal))
    return 10.0 * hamacher_product(ready, raised)


def window_close(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10: for fingertips at the handle, and having moved it.

    Both must be there at once.
    """
    handle, start, goal = after.object_position, after.object_start, after.goal_position
    whole = abs(float(start[0] - goal[0]))
    left = abs(float(handle[0] - goal[0]))
    moved = tolerance(left, bound=0.05, margin=abs(whole - 0.05))
    margin = abs(distance(start, after.fingertip_start) - 0.02)
    away = distance(handle, after.fingertip_position)
    return 10.0 * hamacher_product(gaussian_tolerance(away, bound=0.02, margin=margin), moved)


def window_open(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10: for fingertips at the handle, and having moved it.

    Both must be there at once.
    """
    handle, start, goal = after.object_position, after.object_start, after.goal_position
    left = abs(float(handle[0] - goal[0]))
    moved = tolerance(left, bound=0.05, margin=0.15)
    margin = abs(distance(start, after.fingertip_start) - 0.02)
    away = distance(handle, after.fingertip_position)
    return 10.0 * hamacher_product(tolerance(away, bound=0.02, margin=margin), moved)
