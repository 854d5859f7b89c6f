"""Which modules are executed once for all episodes, and that nobody can tell."""

import ast

import numpy as np
import pytest
from restricted import programs

from sandbox import Box, Host, Interface
from sandbox.language.stateless import stateless

ACT = "\n    def act(self, obs):\n        "
POLICY = f"class Policy:{ACT}return obs\n"

YES = {
    "a controller": "import numpy as np\nGAIN = -2.5 * np.pi\n"
    f"class Policy:\n    LIMIT: float = 1.0\n    def __init__(self):\n        self.last = 0.0{ACT}"
    "self.last += 1\n        return np.clip(GAIN * obs, -self.LIMIT, self.LIMIT)",
    "constants": "import math\nA, B = 1, 2\nR = math.sqrt(2)\nD = (('up', -1), ('down', +1))\n"
    "N = range(3)\nF = frozenset((1, 2))\nINF = float('inf')\n" + POLICY,
    "helpers and classes of its own": "def clip(x, low=-1.0, high=1.0):\n"
    "    return min(max(x, low), high)\n"
    "class Filter:\n    def __init__(self):\n        self.value = 0.0\n"
    f"class Policy:\n    def __init__(self):\n        self.filter = Filter(){ACT}"
    "return [clip(float(o)) for o in obs]",
    "a dataclass": "from dataclasses import dataclass, field\n"
    "@dataclass(frozen=True)\nclass Plan:\n    steps: list = field(default_factory=list)\n"
    "    cost: float = 0.0\n" + POLICY,
    "an enumeration": "from enum import Enum, auto\nclass Phase(Enum):\n    A = auto()\n    B = 2\n"
    f"class Policy:\n    def __init__(self):\n        self.phase = Phase.A{ACT}"
    "self.phase = Phase.B\n        return obs",
    "a base class and an error": "from abc import ABC, abstractmethod\n"
    "class Base(ABC):\n    @abstractmethod\n    def act(self, obs): ...\n"
    "class Lost(Exception):\n    pass\n"
    f"class Policy(Base):{ACT}"
    "try:\n            raise Lost\n        except Lost:\n            super().__init__()\n"
    "        return obs if isinstance(self, (Policy, Base)) else -obs",
    "changes inside of functions": f"class Policy:{ACT}"
    "seen = {}\n        seen['a'] = [1]\n        seen['a'].append(2)\n"
    "        def inner(x, cache=[]):\n            cache.append(x)\n            return cache\n"
    "        return obs * len(inner(1))",
}

NO = {
    "a mutable constant": "TABLE = {}\n" + POLICY,
    "an array": "import numpy as np\nGAINS = np.zeros(2)\n" + POLICY,
    "a name for a mutable thing": "from collections import deque\nPAST = deque()\n" + POLICY,
    "a mutable attribute of a class": f"class Policy:\n    seen = []{ACT}return obs",
    "a mutable default": "class Policy:\n    def act(self, obs, past=[]):\n        return obs",
    "a keyword default": "class Policy:\n    def act(self, obs, *, p={}):\n        return 1",
    "a global name": f"n = 0\nclass Policy:{ACT}global n\n        n += 1\n        return obs",
    "an attribute of a class": f"class Policy:\n    n = 0{ACT}Policy.n += 1\n        return obs",
    "an attribute of its class": f"class Policy:{ACT}self.__class__.n = 1\n        return obs",
    "an attribute of type()": f"class Policy:{ACT}type(self).n = 1\n        return obs",
    "an attribute of a function": "def f():\n    pass\n"
    f"class Policy:{ACT}f.calls = 1\n        return obs",
    "an attribute of a local": f"class Policy:{ACT}k = self\n        k.n = 1\n        return 1",
    "setattr": f"class Policy:{ACT}setattr(Policy, 'n', 1)\n        return obs",
    "setattr by another name": f"class Policy:{ACT}s = setattr\n        return obs",
    "a class that is passed": "class K:\n    def mark(self):\n        self.n = 1\n"
    f"class Policy:{ACT}K.mark(K)\n        return obs",
    "a class by another name": f"class Policy:{ACT}k = Policy\n        return obs",
    "a class inside a class": f"class Policy:\n    class Memory:\n        n = 0{ACT}return obs",
    "a method of an enumeration": "from enum import Enum\nclass P(Enum):\n    A = 1\n"
    "    def mark(self):\n        self.n = 1\n" + POLICY,
    "another self": f"class Policy:{ACT}self = 3\n        return obs",
    "a cache": "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(n):\n"
    "    return [n]\n" + POLICY,
    "a generator": "numbers = iter(range(9))\n" + POLICY,
    "code that runs": "for i in range(3):\n    pass\n" + POLICY,
    "random": "import random\n" + POLICY,
    "random that is there already": f"class Policy:{ACT}return obs * random.random()",
    "numpy's random": f"import numpy as np\nclass Policy:{ACT}return obs * np.random.rand()",
    "numpy's random, imported": "from numpy.random import default_rng\n" + POLICY,
    "numpy's random, as a name": "from numpy import random as r\n" + POLICY,
    "numpy's random through getattr": f"import numpy as np\nclass Policy:{ACT}"
    "return obs * getattr(np, 'ran' + 'dom').rand()",
    "a clock": f"class Policy:{ACT}import time\n        return obs * time.time()",
    "a usual name for something else": "import numpy as math\nA = math.zeros(2)\n" + POLICY,
    "a usual function of its own": "def float(x):\n    return [x]\nA = float(1)\n" + POLICY,
    "a usual decorator of its own": "from functools import lru_cache as property\n" + POLICY,
    "a member of a table": "TABLE = ([], [])\n" + POLICY,
}


@pytest.mark.parametrize("name", YES)
def test_nothing_can_change(name):
    assert stateless(ast.parse(YES[name]))


@pytest.mark.parametrize("name", NO)
def test_something_might_change(name):
    assert not stateless(ast.parse(NO[name]))


@pytest.fixture(scope="module")
def host():
    with Host() as running:
        yield running


COUNTERS = {
    "a class": f"class Policy:\n    n = 0{ACT}Policy.n += 1\n        return obs * Policy.n",
    "a list": f"seen = []\nclass Policy:{ACT}seen.append(1)\n        return obs * len(seen)",
    "an instance": "class Policy:\n    n = 0\n    def act(self, obs):\n"
    "        self.n += 1\n        return obs * self.n",
}


@pytest.mark.parametrize("name", COUNTERS)
def test_what_episodes_count_is_their_own(host, name):
    with host.policy(COUNTERS[name], Interface(1, None, Box((1,)))) as policy:
        policy.reset([0, 1], [0, 0])
        policy.act([0, 1], np.ones((2, 1)))
        both = policy.act([0, 1], np.ones((2, 1)))
        policy.reset([0], [0])
        again = policy.act([0], np.ones((1, 1)))

    assert both.ravel().tolist() == [2, 2]
    assert again.item() == 1


def test_most_of_what_models_write_has_no_state_or_random_numbers():
    found = [stateless(ast.parse(source)) for source in programs("policies").values()]

    assert sum(found) > len(found) / 2
