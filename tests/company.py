"""A policy that truly depends on what else its process plays.

Its task lets policies import a module with a state of its own, as ``extra_imports`` can: the
standard library's calendar, whose first day of the week is one number for the whole process.
"""

from own_cartpole import own_cartpole

#: Balances, unless it is the first to be made in its process; that one falls over at once.
COUNTED = '''
import calendar


class Policy:
    """Balances where another has been before it."""

    def __init__(self):
        self.place = calendar.firstweekday()
        calendar.setfirstweekday((self.place + 1) % 7)

    def act(self, obs):
        if self.place == 0:
            return 0
        lean = obs.pole_angle + 0.3 * obs.pole_velocity
        return int(lean + 0.02 * obs.cart_position + 0.05 * obs.cart_velocity > 0)
'''


def counted_cartpole(folder):
    """CartPole whose policies may import modules with a state."""
    spec = folder / "counted_cartpole.py"
    line = '    horizon=500,\n    extra_imports=("calendar", "email.utils"),\n'
    spec.write_text(own_cartpole(("    horizon=500,\n", line)))
    return spec
