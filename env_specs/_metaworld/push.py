"""Rewards of the Meta-World tasks in which something is pushed, pulled or slid.

``grip`` is the environment's own measure of the grasp: ``_gripper_caging_reward``, which needs the
finger pads at the start of the episode and before.
"""

from __future__ import annotations

import numpy as np

from .shaping import Observation, distance, hamacher_product, tolerance


def coffee(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the mug is at the goal.

    Up to 1 for a grip near the goal; 1 more for fingertips within 0.04 m of the mug, and up to 5
    more for the way to the goal. x and y of the mug weigh twice.
    """
    scale = np.array([2.0, 2.0, 1.0])
    mug, start, goal = after.object_position, after.object_start, after.goal_position
    left = float(np.linalg.norm((mug - goal) * scale))
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=float(np.linalg.norm((start - goal) * scale)))
    in_hand = distance(mug, after.fingertip_position) < 0.04 and after.gripper_opening > 0
    return hamacher_product(grip, near) + (1.0 + 5.0 * near if in_hand else 0.0)


def sliding(next_observation: Observation, base: np.ndarray) -> float:
    """Up to 1.5 for fingertips near the plate; low and near it, 2 and up to 7 for the way."""
    plate, goal, tips = (
        next_observation.object_position,
        next_observation.goal_position,
        next_observation.fingertip_position,
    )
    left = distance(plate, goal)
    if left < 0.05:
        return 10.0
    if tips[2] <= 0.03 and distance(plate, tips) < 0.07:
        return 2.0 + 7.0 * tolerance(left, bound=0.05, margin=distance(base, goal) - 0.05)
    margin = distance(next_observation.fingertip_start, base) - 0.05
    return 1.5 * tolerance(distance(plate, tips), bound=0.05, margin=margin)


def plate_slide_back(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10; 10 once the plate is within 0.05 m of the goal."""
    return sliding(after, np.array([0.0, 0.85, 0.0]))


def plate_slide_back_side(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10; 10 once the plate is within 0.05 m of the goal."""
    return sliding(after, np.array([-0.25, 0.6, 0.0]))


def plate_slide_side(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10; 10 once the plate is within 0.05 m of the goal."""
    return sliding(after, np.array([0.0, 0.6, 0.0]))


def plate_slide(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10; 10 once the plate is within 0.05 m of the goal.

    Before that up to 8 for fingertips near the plate and the plate near the goal, both at once.
    """
    plate, goal = after.object_position, after.goal_position
    base = np.array([0.0, 0.6, 0.0])
    left = distance(plate, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=distance(base, goal))
    away = distance(plate, after.fingertip_position)
    at_plate = tolerance(away, bound=0.05, margin=distance(after.fingertip_start, base))
    return 8.0 * hamacher_product(at_plate, near)


def push(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the puck is within 0.05 m of the goal.

    Up to 2 for the grip; with the puck in the hand, 1 and up to 2 more for the grip and up to 5
    for the way to the goal.
    """
    puck, goal = after.object_position, after.goal_position
    left = distance(puck, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=distance(after.object_start, goal))
    in_hand = distance(puck, after.fingertip_position) < 0.02 and after.gripper_opening > 0
    return 2.0 * grip + (1.0 + 2.0 * grip + 5.0 * near if in_hand else 0.0)


def push_back(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the block is within 0.05 m of the goal.

    Up to 1 for a grip near the goal; with the block in the hand and 0.01 m nearer than it was at
    the start, 1 more and up to 5 for the way to the goal.
    """
    block, goal = after.object_position, after.goal_position
    first, left = distance(after.object_start, goal), distance(block, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=first)
    total = hamacher_product(grip, near)
    in_hand = distance(block, after.fingertip_position) < 0.01
    if in_hand and 0.0 < after.gripper_opening < 0.55 and first - left > 0.01:
        total += 1.0 + 5.0 * near
    return total


def push_wall(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the puck is within 0.05 m of the goal.

    Up to 2 for the grip; with the puck in the hand, 1 and up to 4 for the way to ``beside_wall``,
    then (beyond y = 0.75) 5 and up to 3 for the way to the goal.
    """
    scale = np.array([3.0, 1.0, 1.0])
    puck, start, goal = after.object_position, after.object_start, after.goal_position
    beside_wall = np.array([-0.05, 0.77, puck[2]])
    left = distance(puck, goal)
    if left < 0.05:
        return 10.0
    total = 2.0 * grip
    if distance(puck, after.fingertip_position) < 0.02 and after.gripper_opening > 0:
        if puck[1] > 0.75:
            return total + 5.0 + 3.0 * tolerance(left, bound=0.05, margin=distance(start, goal))
        first = float(np.linalg.norm((start - beside_wall) * scale))
        aside = float(np.linalg.norm((puck - beside_wall) * scale))
        total += 1.0 + 4.0 * tolerance(aside, bound=0.05, margin=first)
    return total


def reach_wall(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10: for fingertips near the goal."""
    goal = after.goal_position
    margin = distance(np.array([0.0, 0.6, 0.2]), goal)
    return 10.0 * tolerance(distance(after.fingertip_position, goal), bound=0.05, margin=margin)


def soccer(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the ball is in the goal.

    Up to 3 for the grip and up to 6.5 for the ball near the goal; less for a ball that is beyond
    ``line`` beside the goal. x weighs 3 times as much as y and z.
    """
    scale = np.array([3.0, 1.0, 1.0])
    ball, goal = after.object_position, after.goal_position
    left = float(np.linalg.norm((ball - goal) * scale))
    if left < 0.07:
        return 10.0
    moved = float(np.linalg.norm((ball - after.object_start) * scale))
    near = tolerance(left, bound=0.07, margin=moved)
    line = float(goal[1]) - 0.1
    if ball[1] > line and abs(ball[0] - goal[0]) > 0.1:
        near = min(max(near - 2.0 * (float(ball[1]) - line) / (1.0 - line), 0.0), 1.0)
    return 3.0 * grip + 6.5 * near


def stick_pull(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 with the stick in the handle at the goal.

    Up to 1 for a grip near the handle; with a lifted stick in the hand, 1 and up to 5 more for the
    way to the handle; once the stick is through it, 6 and up to 3 more for the way to the goal.
    """
    scale, offset = np.array([1.0, 1.0, 2.0]), np.array([0.05, 0.0, 0.0])
    stick, start, goal = after.object_position, after.object_start, after.goal_position
    handle, tip = after.second_position, after.stick_tip_position
    inside, inside_start = handle + offset, after.second_start + offset
    first = float(np.linalg.norm((start - inside_start) * scale))
    near = tolerance(float(np.linalg.norm((stick - inside) * scale)), bound=0.05, margin=first)
    total = hamacher_product(grip, near)
    in_hand = distance(stick, after.fingertip_position) < 0.02 and after.gripper_opening > 0
    if not (in_hand and stick[2] - 0.01 > start[2]):
        return total
    aside, above = abs(tip[1] - handle[1]), abs(tip[2] - handle[2])
    if not (tip[0] >= handle[0] and aside <= 0.04 and above <= 0.06):
        return 1.0 + total + 5.0 * near
    if distance(handle, goal) <= 0.12:
        return 10.0
    stick_way = tolerance(distance(stick, goal), bound=0.05, margin=distance(start, goal))
    margin = distance(after.second_start, goal)
    return 6.0 + total + 2.0 * stick_way + tolerance(distance(inside, goal), 0.05, margin)


def stick_push(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 with the container at the goal and the stick held.

    Up to 1 for the grip; with a lifted stick in the hand, 2 and up to 5 for the stick's way to the
    goal and up to 3 for the container's.
    """
    start, goal = after.object_start, after.goal_position
    stick = after.object_position + np.array([0.015, 0.0, 0.0])
    in_hand = distance(stick, after.fingertip_position) < 0.02 and after.gripper_opening > 0
    if not (in_hand and stick[2] - 0.01 > start[2]):
        return grip
    left = distance(after.second_position, goal)
    if left <= 0.12:
        return 10.0
    stick_way = tolerance(distance(stick, goal), 0.12, distance(start, goal) - 0.12)
    container_way = tolerance(left, 0.12, distance(after.second_start, goal) - 0.12)
    return 2.0 + 5.0 * stick_way + 3.0 * container_way


def sweep(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the cube is within 0.05 m of the goal.

    Up to 2 for the grip, and up to 6 for the grip and the cube near the goal, both at once.
    """
    cube, goal = after.object_position, after.goal_position
    left = distance(cube, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=distance(after.object_start, goal))
    return 2.0 * grip + 6.0 * hamacher_product(grip, near)


def sweep_into(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the cube is above, in or below the goal.

    Up to 2 for the grip, and up to 6 for the grip and the cube near the goal, both at once. The
    goal's height does not count.
    """
    cube, goal = after.object_position, after.goal_position
    goal = np.array([goal[0], goal[1], cube[2]])
    left = distance(cube, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=distance(after.object_start, goal))
    return 2.0 * grip + 6.0 * hamacher_product(grip, near)
