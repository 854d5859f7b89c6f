"""Glucose: dose the insulin of a person with type 1 diabetes through 20 days of meals.

The person, a grown-up of 102 kg, makes no insulin of their own: a pump under the skin gives it, and
the controller sets the pump every 5 minutes. A sensor under the skin measures glucose, with an
error of 11 mg/dL (standard deviation; at times 30 and more) that drifts: it is much the same for a
quarter of an hour, another one after an hour. Meals come at random times of the day and in random
sizes: mostly breakfast, lunch and dinner, at times snacks. The controller learns of a meal when it
is served. Too much glucose harms in the long run, too little at once: the episode ends by death
when the true blood glucose leaves 10 to 1000 mg/dL, and death costs more than any life of those 20
days. Insulin acts slowly, for hours after it was given, and cannot be taken back. The episode
begins at midnight.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, field


class Observation:
    """The last 4 hours, before each action, in steps of 5 minutes: index 47 is the newest.

    Index 47 of the three arrays belongs together: what the sensor showed on average of the step's 5
    minutes (a new reading comes with the last of them), and what was given and served during it. -1
    stands where there is no value yet: at the start, only glucose[47] is known.
    """

    glucose: np.ndarray = field(
        shape=(48,),
        unit="mg/dL",
        low=-1.0,
        high=600.0,
        doc="as the sensor shows it: the truth plus an error, cut to 39 to 600; -1: not known",
    )
    insulin: np.ndarray = field(
        shape=(48,),
        unit="U/min",
        low=-1.0,
        high=0.1,
        doc="given during the step, as the pump rounds it; -1: not known",
    )
    carbohydrate: np.ndarray = field(
        shape=(48,),
        unit="g",
        low=-1.0,
        high=500.0,
        doc="of meals served during the step, whole grams, 0: none; eaten from then on at 5 g a "
        "minute; -1: not known",
    )


ACTION = """
An array of 1 float in [0, 0.1] (values beyond are clipped): the insulin to give during the next 5
minutes, in U/min; so 0.1 gives 0.5 U a step.
"""


def reward(
    observation: Observation,
    action: np.ndarray,
    next_observation: Observation,
    *,
    died: bool,
    steps_left: int,
) -> float:
    """Reward of one step: minus the risk (Magni) of the sensor's glucose, and the insulin's cost.

    The risk is 0 at 139 mg/dL; for example 25 at 70 mg/dL, 3.5 at 180, 18 at 250. A unit of insulin
    costs 10. No step costs a living patient more than 115: that is what death costs for each of the
    ``steps_left``, of 5760, and 100,000 besides.
    """
    log_power = np.log(next_observation.glucose[47]) ** 0.8353
    risk = 10.0 * (3.5506 * (log_power - 3.7932)) ** 2
    units = 5.0 * next_observation.insulin[47]
    death = 100_000.0 + 115.0 * steps_left if died else 0.0
    return -float(risk + 10.0 * units + death)


def make() -> Env:
    """The UVA/Padova patient adult#001; see docs/real_world.md."""
    from ._glucose.world import GlucoseWorld

    return GlucoseWorld()


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """Give basal insulin, and a bolus with every meal, spread over time by the pump's limit.

    The bolus is 0.65 of what the patient's ratio of carbohydrate to insulin asks for, and nothing
    is corrected by what is measured: the risk's ideal of 139 mg/dL is higher than a clinic's.
    """
    from ._glucose.model import basal_rate, grams_per_unit

    basal, most, ratio = basal_rate(), float(env.action_space.high[0]), grams_per_unit()
    owed = 0.0

    def act(raw: np.ndarray) -> np.ndarray:
        nonlocal owed
        owed += 0.65 * max(0.0, raw[2, -1]) / ratio
        rate = min(most, basal + owed / 5.0)
        owed -= 5.0 * (rate - basal)
        return np.array([rate])

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_inputs=lambda info: {"died": info["died"], "steps_left": info["steps_left"]},
    horizon=5760,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines glucose --episodes 40
    references={"random": -252_700.0, "zero action": -489_500.0, "expert": -28_480.0},
)
