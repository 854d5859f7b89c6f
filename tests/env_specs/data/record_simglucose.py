"""Records simglucose_adult_001.csv, three days as simglucose 0.2.11 simulates them.

simglucose pins packages that cannot be installed beside ours, so it goes without its dependencies
into a folder of its own, in a virtual environment with numpy, scipy, pandas and matplotlib:

    pip install --no-deps --target FOLDER simglucose==0.2.11 'setuptools<81'
    PYTHONPATH=FOLDER python tests/env_specs/data/record_simglucose.py

Nothing of its simulation is replaced: only ``gym`` and ``gymnasium``, which it imports and which
this does not use.
The rates of insulin (U/min) meet all that a controller may do: nothing, basal, far too much.
"""

import sys
import types
from datetime import datetime
from pathlib import Path

PATIENT_SEED, SENSOR_SEED, MEAL_SEED = 11, 22, 33
STEPS = 3 * 288


def rate(step: int) -> float:
    """Insulin of a step, U/min."""
    basal = 0.0211
    if 300 <= step < 360:
        return 0.0
    if 430 <= step < 500:
        return 0.1
    if step % 72 < 6:
        return 0.08
    return basal + 0.001 * (step % 7)


def stand_in_for_gym() -> None:
    """Make ``import gymnasium`` and ``import gym`` give what simglucose names while it loads."""
    names = {
        "gym": {"Env": object, "spaces": None},
        "gym.envs": {},
        "gym.envs.registration": {"register": lambda **arguments: None},
        "gym.utils": {"seeding": None},
        "gymnasium": {"Env": object},
    }
    for name, attributes in names.items():
        module = types.ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module


def main() -> None:
    stand_in_for_gym()
    from simglucose.actuator.pump import InsulinPump
    from simglucose.controller.base import Action
    from simglucose.patient.t1dpatient import T1DPatient
    from simglucose.sensor.cgm import CGMSensor
    from simglucose.simulation.env import T1DSimEnv
    from simglucose.simulation.scenario_gen import RandomScenario

    env = T1DSimEnv(
        T1DPatient.withName("adult#001", random_init_bg=True, seed=PATIENT_SEED),
        CGMSensor.withName("GuardianRT", seed=SENSOR_SEED),
        InsulinPump.withName("Insulet"),
        RandomScenario(start_time=datetime(2018, 1, 1), seed=MEAL_SEED),
    )
    env.reset()
    lines = [
        f"# seeds: patient {PATIENT_SEED}, sensor {SENSOR_SEED}, meals {MEAL_SEED}; see "
        "record_simglucose.py",
        "asked U/min,insulin U/min,carbohydrate g/min,glucose mg/dL,sensor mg/dL",
        f"nan,nan,nan,{env.BG_hist[0]:.10g},{env.CGM_hist[0]:.10g}",
    ]
    for step in range(STEPS):
        asked = rate(step)
        done = env.step(Action(basal=asked, bolus=0.0)).done
        assert not done
        row = (asked, env.insulin_hist[-1], env.CHO_hist[-1], env.BG_hist[-1], env.CGM_hist[-1])
        lines.append(",".join(f"{float(value):.10g}" for value in row))
    path = Path(__file__).with_name("simglucose_adult_001.csv")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {STEPS} steps, glucose {min(env.BG_hist):.1f} to {max(env.BG_hist):.1f} mg/dL")


if __name__ == "__main__":
    main()
