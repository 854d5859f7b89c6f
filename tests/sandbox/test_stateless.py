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
    "static methods, properties, patterns": "import enum\nclass Phase(enum.IntEnum):\n    A = 1\n"
    "class K:\n    __slots__ = ['x']\n    SIGNS = (-1, Phase.A)\n    def __init__(self, x):\n"
    "        self.x = x\n    @property\n    def half(self):\n        return self.x / 2\n"
    "    @half.setter\n    def half(self, x):\n        self.x = 2 * x\n"
    "    @staticmethod\n    def clip(x):\n        return min(x, 1)\n"
    f"class Policy:{ACT}k = K(obs[0])\n        match k:\n            case K(x=x):\n"
    "                return [K.clip(x) * K.SIGNS[0]]\n        raise ValueError",
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
    "a factory with a default": "from dataclasses import dataclass, field\n@dataclass\n"
    "class P:\n    steps: list = field(default_factory=lambda kept=[]: kept)\n" + POLICY,
    "a factory that is a class of its own": "from dataclasses import dataclass, field\n"
    "class K:\n    pass\n@dataclass\nclass P:\n    k: K = field(default_factory=K)\n" + POLICY,
    "self in a pattern": f"class Policy:{ACT}match Policy:\n            case self:\n"
    "                self.n = 1\n        return obs",
    "self in a starred pattern": f"class Policy:{ACT}match [obs]:\n            case [*self]:\n"
    "                pass\n        return obs",
    "self as an exception": f"class Policy:{ACT}try:\n            pass\n"
    "        except ValueError as self:\n            pass\n        return obs",
    "self imported": f"class Policy:{ACT}import math as self\n        return obs",
    "self of a function": "class K:\n    pass\ndef mark(self):\n    self.n = 1\n" + POLICY,
    "self of a function inside": f"class Policy:{ACT}def mark(self):\n"
    "            self.n = 1\n        return obs",
    "self of a static method": "class K:\n    @staticmethod\n    def mark(self):\n"
    "        self.n = 1\n" + POLICY,
    "self as another parameter": "class K:\n    def mark(me, self):\n        self.n = 1\n" + POLICY,
    "self of a class inside": f"class Policy:{ACT}class K:\n            def mark(self):\n"
    "                self.n = 1\n        return obs",
    "a method taken off its class": "class K:\n    def mark(self):\n        self.n = 1\n"
    f"class Policy:{ACT}mark = K.mark\n        return obs",
    "a method called on something else": "class K:\n    def mark(self):\n        self.n = 1\n"
    f"class Policy:{ACT}K.mark(obs)\n        return obs",
    "a method by another name": "class Policy:\n    def act(self, obs):\n        return obs\n"
    "    other = act\n",
    "a method as a default": "class Policy:\n    def mark(self):\n        self.n = 1\n"
    "    def act(self, obs, mark=mark):\n        return obs\n",
    "a getter of a property": "class K:\n    @property\n    def p(self):\n        self.n = 1\n"
    f"class Policy:{ACT}return K.p\n",
    "a mixin of an enumeration": "from enum import Enum\nclass Base:\n    def mark(self):\n"
    "        self.n = 1\nclass P(Base, Enum):\n    A = 1\n" + POLICY,
    "an enumeration by another name": "from enum import Enum as E\nclass P(E):\n    A = 1\n"
    "    def mark(self):\n        self.n = 1\n" + POLICY,
    "an enumeration of a renamed module": "import enum as e\nclass P(e.Enum):\n    A = 1\n"
    "    def mark(self):\n        self.n = 1\n" + POLICY,
    "an enumeration below another": "from enum import Enum\nclass P(Enum):\n    pass\n"
    "class Q(P):\n    A = 1\n    def mark(self):\n        self.n = 1\n" + POLICY,
    "an attribute of a member": "from enum import Enum\nclass P(Enum):\n    A = 1\n"
    f"class Policy:{ACT}P.A.n = 1\n        return obs",
    "attrgetter": "from operator import attrgetter\nimport numpy as np\n"
    f"class Policy:{ACT}return obs * attrgetter('random')(np).rand()",
    "attrgetter of the module": "import operator as o\nimport numpy as np\n"
    f"class Policy:{ACT}return obs * o.attrgetter('random')(np).rand()",
    "methodcaller": "from operator import methodcaller as m\n" + POLICY,
    "numpy's random in a pattern": f"import numpy as np\nclass Policy:{ACT}match np:\n"
    "            case object(random=r):\n                return obs * r.rand()",
    "wraps": "from functools import wraps\n" + POLICY,
    "abstractmethod as a function": "from abc import abstractmethod\n"
    f"class Policy:{ACT}abstractmethod(self.act)\n        return obs",
    "a class method": f"class Policy:\n    @classmethod\n    def mark(cls):\n"
    f"        cls.n = 1{ACT}return obs",
    "a cache as a decorator": f"import functools\nclass Policy:\n    @functools.cache{ACT}return 1",
    "a decorator's argument": "from dataclasses import dataclass\n"
    "@dataclass(frozen=bool(kept := []))\nclass P:\n    x: float = 0.0\n" + POLICY,
    "a base that is computed": "class Policy((kept := [], object)[1]):\n    def act(self, obs):\n"
    "        return obs\n",
    "an annotation that binds": "from dataclasses import InitVar, dataclass\n@dataclass\n"
    "class P:\n    x: InitVar[(kept := [])] = 0\n" + POLICY,
    "an array by an operator": "import numpy as np\nT = np.True_ + (1, 2)\n" + POLICY,
    "an array by an imported operand": "from numpy import True_\nT = True_ + (1, 2)\n" + POLICY,
    "an array by an imported function": "from numpy import round\nT = round((1.5, 2))\n" + POLICY,
    "an array by a subscript": "import numpy as np\nT = np.r_[0:3]\n" + POLICY,
    "a usual decorator from elsewhere": "from functools import cache as dataclass\n" + POLICY,
    "a name bound twice": "A = 1\ndef A(x):\n    return x\nB = A\n" + POLICY,
    "an iterator": "import itertools\nN = itertools.count()\n" + POLICY,
    "a lambda": "f = lambda kept=[]: kept\n" + POLICY,
    "a lambda in a class": f"class Policy:\n    f = lambda self: self{ACT}return obs",
    "a walrus in a class": f"class Policy:\n    (kept := []){ACT}return obs",
    "a loop in a class": f"class Policy:\n    for kept in ([],):\n        pass{ACT}return obs",
    "a with in a class": "import numpy as np\nclass Policy:\n    with np.errstate() as kept:\n"
    f"        pass{ACT}return obs",
    "a partial method": "from functools import partialmethod\nclass Policy:\n"
    "    def act(self, obs):\n        return obs\n    other = partialmethod(act)\n",
    "a function handed to a library": "def f(x):\n    return x\n"
    f"class Policy:{ACT}return sorted(obs, key=f)",
    "a class handed to a library": f"class K:\n    pass\nclass Policy:{ACT}"
    "list(map(K, obs))\n        return obs",
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
