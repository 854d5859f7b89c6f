"""Reference of twin:mujoco_ant, in the words of the original, for which it was written.

A language model wrote it in the fourth of four rounds on mujoco_ant, in 57,037 search steps. On the
twin it plays behind the original's order, signs and names. A search of linear and oscillating
policies stayed below standing still:

python benchmarks/twin_references.py mujoco_ant --steps 1e6 --step 0.03 --noise 0.04
--directions 16 --best 8 --oscillator 0.4 --without places contacts trunk_place
"""

from typing import Any

import numpy as np

FL, BL, BR, FR = 0, 1, 2, 3
BEND = np.array([1.0, -1.0, -1.0, 1.0])  # sign of a bent ankle, leg by leg
GAIN = 150.0  # rad/s^2 that a full torque gives a joint: 150 N m on an inertia of about 1 (memory)


def wrap(angle: float) -> float:
    """An angle between -pi and pi."""
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def up_vector(q: Any) -> Any:  # noqa: ANN401 - arrays
    """The trunk's own upward direction in the world, of an attitude as a quaternion."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)])


class Policy:
    """Rowing hop in step with the ground.

    Two opposite legs, turned to point sideways, meet the floor while sweeping back. Pitch is kept
    by foot placement with small gains, lean by leg length.
    """

    def __init__(self) -> None:
        self.t = 0
        self.phase = 1.0  # 0 to 0.5 sweep back, 0.5 to 1 swing forward, 1 wait for the touchdown
        self.side = 0
        self.steer = 0.0
        self.trim = 0.0
        self.hold = 0
        self.vel = np.zeros(2)
        self.swing = 0.16  # of the ankles, regulated to reach the take-off speed
        self.rise = 0.0  # largest upward speed since the last sweep began
        # period of the sweep (steps), sweep (rad), take-off speed (m/s), phase at touchdown,
        # phase shift of the ankles, ankle centre (rad)
        self.par = (7.6, 0.50, 1.3, 0.20, 0.25, 0.82)

    def track(self, obs: Any, ref: Any, rate: Any, acc: Any) -> Any:  # noqa: ANN401
        q = np.asarray(obs.joint_angles, float)
        qd = np.asarray(obs.joint_velocities, float)
        torque = np.clip((acc + rate) / GAIN + 0.6 * (ref - q) + 0.1 * (rate - qd), -1.0, 1.0)
        return np.roll(torque, 2)

    def posture(self, obs: Any, ankle: float) -> Any:  # noqa: ANN401
        ref = np.zeros(8)
        ref[1::2] = BEND * ankle
        return self.track(obs, ref, np.zeros(8), np.zeros(8))

    def act(self, obs: Any) -> Any:  # noqa: ANN401, PLR0915 - one gait cycle, as it was found
        self.t += 1
        up = up_vector(np.asarray(obs.torso_orientation, float))
        _, _, yaw = obs.roll_pitch_yaw()
        wx, wy, wz = [float(v) for v in obs.torso_angular_velocity]
        vz = float(obs.torso_velocity[2])
        self.vel = 0.9 * self.vel + 0.1 * np.asarray(obs.torso_velocity, float)[:2]
        if self.t <= 12:
            return self.posture(obs, 0.8)
        if self.side == 0:
            self.side = 1 if yaw >= 0.0 else -1
        if up[2] < 0.8 and self.hold == 0:
            self.hold = 12
        if self.hold > 0:
            self.hold -= 1
            self.phase = 1.0
            return self.posture(obs, 0.7)

        period, sweep, takeoff, meet, shift, centre = self.par
        left, right, front, back = (FL, BR, FR, BL) if self.side > 0 else (BL, FR, FL, BR)
        # time to the touchdown (s), from the height of the oars' ankles
        self.rise = max(self.rise, vz)
        # hop lower while tilted or high
        tilt = float(np.hypot(up[0], up[1]))
        takeoff = takeoff * (1.0 - float(np.clip(2.0 * (tilt - 0.15), 0.0, 0.4)))
        if float(obs.torso_position[2]) > 0.85:
            self.swing = max(0.05, self.swing - 0.02)
        ankle_meet = centre + self.swing * np.sin(2.0 * np.pi * (meet - shift))
        heights = obs.body_positions[3 + 3 * left, 2] + obs.body_positions[3 + 3 * right, 2]
        ankle_z = 0.5 * float(heights)
        clear = max(0.0, ankle_z - 0.566 * np.sin(ankle_meet) - 0.08)
        wait = (vz + np.sqrt(vz * vz + 19.6 * clear)) / 9.8
        speed = 1.0 / period  # phase per step
        if self.phase >= 1.0:
            self.phase = 1.0
            start = meet - wait / (0.05 * period)
            if start > -0.06:
                self.phase = max(0.0, start)
                self.swing = float(np.clip(self.swing + 0.04 * (takeoff - self.rise), 0.05, 0.28))
                self.rise = 0.0
        elif self.phase >= 0.5:
            # swing forward just fast enough to be there before the next sweep has to begin
            left_steps = max(1.0, wait / 0.05 - meet * period)
            speed = float(np.clip((1.0 - self.phase) / left_steps, 1.0 / 12.0, 1.0 / 7.0))

        # heading: turned by 45 degrees, so that two legs point sideways as oars
        course = np.arctan2(self.vel[1], max(self.vel[0], 0.7))
        error = wrap(self.side * np.pi / 4.0 - 0.5 * course - yaw)
        want = float(np.clip(1.5 * error - 0.2 * wz, -1.4, 1.4))
        self.steer += 0.5 * (want - self.steer)
        ramp = min(1.0, 0.4 + 0.6 * (self.t - 12) / 40.0)
        size_right = sweep * ramp * min(1.0, 1.0 + self.steer)
        size_left = sweep * ramp * min(1.0, 1.0 - self.steer)
        # feet further forward when the nose (along world x) sinks, backward when it rises
        sink_rate = np.sin(yaw) * wx + np.cos(yaw) * wy
        self.trim = float(np.clip(self.trim + 0.0015 * up[0], -0.15, 0.15))
        place = self.trim + float(np.clip(0.2 * up[0] + 0.07 * sink_rate, -0.25, 0.25))
        # lean, positive with the left side (world +y) down, a little ahead of time
        lean = float(up[1]) - 0.05 * (np.cos(yaw) * wx - np.sin(yaw) * wy)
        level = float(np.clip(1.5 * lean, -0.15, 0.15))
        push = float(np.clip(1.8 * lean, -0.4, 0.4))

        moving = self.phase < 1.0
        omega = 2.0 * np.pi * speed / 0.05
        a = 2.0 * np.pi * self.phase
        mid = a + 0.5 * omega * 0.05
        b, bmid = a - 2.0 * np.pi * shift, mid - 2.0 * np.pi * shift
        ref, rate, acc = np.zeros(8), np.zeros(8), np.zeros(8)
        for leg, sign, size in ((left, -1.0, size_left), (right, 1.0, size_right)):
            k = BEND[leg]
            swing = self.swing * (1.0 - sign * push)
            ref[2 * leg] = sign * np.clip(place + size * np.cos(a), -0.52, 0.52)
            ref[2 * leg + 1] = k * np.clip(centre + sign * level + swing * np.sin(b), 0.54, 1.2)
            if moving:
                rate[2 * leg] = -sign * size * omega * np.sin(a)
                acc[2 * leg] = -sign * size * omega**2 * np.cos(mid)
                rate[2 * leg + 1] = k * swing * omega * np.cos(b)
                acc[2 * leg + 1] = -k * swing * omega**2 * np.sin(bmid)
        for leg in (front, back):
            ref[2 * leg + 1] = BEND[leg] * 0.55
        if moving:
            self.phase = min(1.0, self.phase + speed)
        return self.track(obs, ref, rate, acc)
