class Policy:
    """Pushes towards where the pole leans: keeps it up for some tens of steps."""

    AHEAD = tunable(0.0, -0.5, 1.0)  # s, by which the pole's fall is foreseen

    def __init__(self, centre=tunable(0.0, -0.2, 0.2)):
        self.centre = centre  # rad per m

    def act(self, obs):
        lean = obs.pole_angle + self.AHEAD * obs.pole_velocity
        return int(lean + self.centre * obs.cart_position > 0)
