"""Rewards of the Meta-World tasks in which something is grasped and carried; see ``press.py``.

``grip`` is the environment's own measure of the grasp: ``_gripper_caging_reward``, which needs the
finger pads at the start of the episode and before.
"""

from __future__ import annotations

import numpy as np

from .shaping import Observation, distance, hamacher_product, tolerance


def assembly(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the ring is about the peg's top.

    Up to 2 for the grip and up to 6 for lifting the ring and bringing it over the peg, times how
    level and straight the tool is.
    """
    error = after.goal_position - after.ring_position
    radius = float(np.hypot(error[0], error[1]))
    about_peg = radius < 0.02 and error[2] > 0.0
    if about_peg:
        return 10.0
    height = 0.02 * float(np.log(radius - 0.01)) + 0.2 if radius > 0.01 else 0.0
    error = np.array([error[0], error[1], 3.0 * (height - after.ring_position[2])])
    lifted = after.ring_position[2] > 0.02 or radius < 0.01
    closeness = tolerance(float(np.linalg.norm(error)), bound=0.02, margin=0.4)
    placed = 0.1 * lifted + 0.9 * closeness
    turned = distance(after.object_rotation, np.array([0.707, 0.0, 0.0, 0.707]))
    return (2.0 * grip + 6.0 * placed) * max(1.0 - turned / 0.4, 0.0)


def disassemble(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 while the handle is higher than the goal.

    Up to 2 for the grip and up to 6 for lifting the ring to 0.1 m above the goal, times how level
    and straight the tool is.
    """
    if after.object_position[2] > after.goal_position[2]:
        return 10.0
    ring = after.ring_position
    left = distance(after.goal_position + np.array([0.0, 0.0, 0.1]), ring)
    placed = 0.1 * (ring[2] > 0.02) + 0.9 * tolerance(left, bound=0.02, margin=0.2)
    turned = distance(after.object_rotation, np.array([0.707, 0.0, 0.0, 0.707]))
    return float((2.0 * grip + 6.0 * placed) * max(1.0 - turned / 0.4, 0.0))


def basketball(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the ball is within 0.08 of ``above``.

    Up to 1 for a grip near there; 1 more for a lifted ball in the hand, and up to 5 more for
    bringing it there. Heights weigh twice.
    """
    scale = np.array([1.0, 1.0, 2.0])
    ball, start = after.object_position, after.object_start
    above = np.array([after.goal_position[0], after.goal_position[1], 0.3])
    left = float(np.linalg.norm((ball - above) * scale))
    if left < 0.08:
        return 10.0
    near = tolerance(left, bound=0.08, margin=float(np.linalg.norm((start - above) * scale)))
    in_hand = distance(ball, after.fingertip_position) < 0.035 and after.gripper_opening > 0
    lifted = in_hand and ball[2] - 0.01 > start[2]
    return hamacher_product(grip, near) + (1.0 + 5.0 * near if lifted else 0.0)


def bin_picking(action: np.ndarray, after: Observation, *, grip: float, near: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the object is within 0.05 m of the goal.

    ``near`` is how near the object is to the goal compared with the episode's first step, 0 to 1.
    Up to 1 for a grip near the goal; 1 more for a lifted object in the hand, and up to 5 more for
    bringing it near the goal with the hand above ``floor``, which rises between the bins.
    """
    thing, start, goal = after.object_position, after.object_start, after.goal_position
    hand = after.hand_position
    if distance(thing, goal) < 0.05:
        return 10.0
    floor = 1.0
    for place in (start, goal):
        radius = float(np.hypot(hand[0] - place[0], hand[1] - place[1]))
        height = 0.02 * float(np.log(radius - 0.03)) + 0.2 if radius > 0.03 else 0.0
        floor = min(floor, height)
    above = tolerance(max(floor - float(hand[2]), 0.0), bound=0.01, margin=0.05)
    above = 1.0 if hand[2] >= floor else above
    total = hamacher_product(grip, near)
    lifted = thing[2] - 0.02 > start[2]
    if distance(thing, hand) < 0.04 and lifted and after.gripper_opening >= 0.43:
        total += 1.0 + 5.0 * hamacher_product(above, near)
    return total


def box_close(action: np.ndarray, after: Observation) -> float:
    """Reward of one step, between 0 and 10, times how level and straight the lid is.

    Up to 2 for the hand at the lid, come from above, while closing the fingers; up to 8 for the
    lid lifted and near the goal; 10 within 0.08 m of the goal.
    """
    hand, goal = after.hand_position, after.goal_position
    turned = distance(after.object_rotation, np.array([0.707, 0.0, 0.0, 0.707]))
    straight = max(1.0 - turned / 0.2, 0.0)
    if distance(after.object_position, goal) < 0.08:
        return 10.0 * straight
    lid = after.object_position + np.array([0.0, 0.0, 0.02])
    radius = float(np.hypot(hand[0] - lid[0], hand[1] - lid[1]))
    floor = 0.04 * float(np.log(radius - 0.02)) + 0.4 if radius > 0.02 else 0.0
    above = 1.0
    if hand[2] < floor:
        above = tolerance(floor - float(hand[2]), bound=0.01, margin=floor / 2.0)
    at_lid = tolerance(distance(hand, lid), bound=0.02, margin=0.5)
    left = float(np.linalg.norm((goal - lid) * np.array([1.0, 1.0, 3.0])))
    lifted = 0.2 * (lid[2] > 0.04) + 0.8 * tolerance(left, bound=0.05, margin=0.25)
    effort = (float(action[3]) + 1.0) / 2.0
    total = 2.0 * hamacher_product(effort, hamacher_product(above, at_lid)) + 8.0 * lifted
    return float(total * straight)


def hammer(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the nail is in and the rest is above 5.

    Up to 2 for the grip and up to 6 for the hammer's head lifted and near the goal, times how
    straight the hammer is held.
    """
    head = after.object_position + np.array([0.16, 0.06, 0.0])
    left = distance(after.goal_position, head)
    placed = 0.1 * (head[2] > 0.02) + 0.9 * tolerance(left, bound=0.02, margin=0.2)
    turned = distance(after.object_rotation, np.array([1.0, 0.0, 0.0, 0.0]))
    total = (2.0 * grip + 6.0 * placed) * max(1.0 - turned / 0.4, 0.0)
    nail_in = after.second_position[1] - 0.64 > 0.09
    return 10.0 if nail_in and total > 5.0 else total


def hand_insert(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the object is within 0.05 m of the goal.

    Up to 1 for a grip near the goal; 1 more for the object in the hand, and up to 7 more for
    bringing it near the goal.
    """
    thing, goal = after.object_position, after.goal_position
    left = distance(thing, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=distance(after.object_start, goal))
    in_hand = distance(thing, after.fingertip_position) < 0.02 and after.gripper_opening > 0
    return hamacher_product(grip, near) + (1.0 + 7.0 * near if in_hand else 0.0)


def handle_pull(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the handle's height is within 0.05 m.

    Up to 1 for a grip near that height; 1 more for the handle in the hand, and up to 5 more for
    raising it.
    """
    handle, goal = after.object_position, after.goal_position
    left = abs(float(goal[2] - handle[2]))
    if left < 0.05:
        return 10.0
    raised = tolerance(left, bound=0.05, margin=abs(float(goal[2] - after.base_position[2])))
    in_hand = distance(handle, after.fingertip_position) < 0.035 and after.gripper_opening > 0
    return hamacher_product(grip, raised) + (1.0 + 5.0 * raised if in_hand else 0.0)


def handle_pull_side(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the handle is within 0.05 m of the goal.

    Up to 1 for a grip near the goal; 1 more for a raised handle in the hand, and up to 5 more for
    raising it to the goal.
    """
    handle, start, goal = after.object_position, after.object_start, after.goal_position
    left = distance(handle, goal)
    if left < 0.05:
        return 10.0
    raised = tolerance(left, bound=0.05, margin=distance(start, goal))
    in_hand = distance(handle, after.fingertip_position) < 0.035 and after.gripper_opening > 0
    lifted = in_hand and handle[2] - 0.01 > start[2]
    return hamacher_product(grip, raised) + (1.0 + 5.0 * raised if lifted else 0.0)


def peg_insert_side(
    action: np.ndarray, after: Observation, *, grip: float, aligned: float
) -> float:
    """Reward of one step, between 0 and 10; 10 once the peg's head is in the hole.

    ``aligned`` is how near the head is to the goal, 0 to 1, less where it is beside the hole's
    opening. Up to 1 for a grip and alignment; 1 more for a lifted peg in the hand, and up to 5
    more for alignment.
    """
    peg = after.object_position
    error = (after.head_position - after.goal_position) * np.array([1.0, 2.0, 2.0])
    if np.linalg.norm(error) <= 0.07:
        return 10.0
    in_hand = distance(peg, after.fingertip_position) < 0.08 and after.gripper_opening > 0
    lifted = in_hand and peg[2] - 0.01 > after.object_start[2]
    return hamacher_product(grip, aligned) + (1.0 + 5.0 * aligned if lifted else 0.0)


def peg_unplug_side(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the peg is within 0.05 m of the goal.

    Up to 2 for the grip; with the peg in the hand and pulled out by more than 0.015 m, 1 more and
    up to 5 for the way to the goal.
    """
    peg, start, goal = after.object_position, after.object_start, after.goal_position
    left = distance(peg, goal)
    if left <= 0.05:
        return 10.0
    total = 2.0 * grip
    out = after.gripper_opening > 0.5 and peg[0] - start[0] > 0.015
    if out and distance(peg, after.fingertip_position) < 0.035:
        total += 1.0 + 5.0 * tolerance(left, bound=0.05, margin=distance(start, goal))
    return total


def pick_out_of_hole(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the puck is within 0.05 m of the goal.

    Up to 1 for a grip near the goal; 1 more for a lifted puck in the hand, and up to 5 more for
    bringing it near the goal with the fingertips above ``floor``.
    """
    puck, start, goal = after.object_position, after.object_start, after.goal_position
    tips = after.fingertip_position
    left = distance(puck, goal)
    if left < 0.05:
        return 10.0
    radius = float(np.hypot(tips[0] - start[0], tips[1] - start[1]))
    floor = 0.015 * float(np.log(radius - 0.03)) + 0.15 if radius > 0.03 else 0.0
    above = 1.0 if tips[2] >= floor else tolerance(floor - float(tips[2]), bound=0.01, margin=0.02)
    near = tolerance(left, bound=0.02, margin=distance(start, goal))
    total = hamacher_product(grip, near)
    lifted = puck[2] - 0.02 > start[2]
    if distance(puck, tips) < 0.04 and lifted and after.gripper_opening >= 0.33:
        total += 1.0 + 5.0 * hamacher_product(near, above)
    return total


def pick_place_wall(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the puck is within 0.05 m of the goal.

    Up to 1 for a grip near ``over_wall``; with a lifted puck in the hand, 1 and up to 4 more for
    the way to that point, then (beyond y = 0.75) 5 and up to 3 more for the way to the goal.
    """
    scale = np.array([1.0, 1.0, 3.0])
    puck, start, goal = after.object_position, after.object_start, after.goal_position
    over_wall = np.array([goal[0], 0.77, 0.25])
    left = distance(puck, goal)
    if left < 0.05:
        return 10.0
    first = float(np.linalg.norm((start - over_wall) * scale))
    rising = float(np.linalg.norm((puck - over_wall) * scale))
    over = tolerance(rising, bound=0.05, margin=first)
    near = tolerance(left, bound=0.05, margin=distance(start, goal))
    total = hamacher_product(grip, over)
    in_hand = distance(puck, after.fingertip_position) < 0.02 and after.gripper_opening > 0
    if in_hand and puck[2] - 0.015 > start[2]:
        total += 5.0 + 3.0 * near if puck[1] > 0.75 else 1.0 + 4.0 * over
    return total


def shelf_place(action: np.ndarray, after: Observation, *, grip: float) -> float:
    """Reward of one step, between 0 and 10; 10 once the block is within 0.05 m of the goal.

    Up to 1 for a grip near the goal; 1 more for a lifted block in the hand, and up to 5 more for
    the way to the goal. That counts less in front of and below the shelf, and not behind it.
    """
    block, start, goal = after.object_position, after.object_start, after.goal_position
    left = distance(block, goal)
    if left < 0.05:
        return 10.0
    near = tolerance(left, bound=0.05, margin=distance(start, goal))
    total = hamacher_product(grip, near)
    if 0.0 < block[2] < 0.24 and abs(block[0] - goal[0]) < 0.15:
        front = float(block[1] - (goal[1] - 0.15)) / 0.15
        if block[1] > goal[1]:
            near = 0.0
        elif 0.0 < front < 1.0:
            low = (0.24 - float(block[2])) / 0.24
            near = min(max(near - hamacher_product(front, low), 0.0), 1.0)
    in_hand = distance(block, after.fingertip_position) < 0.025 and after.gripper_opening > 0
    if in_hand and block[2] - 0.01 > start[2]:
        total += 1.0 + 5.0 * near
    return total
