"""promptpo: readable policies for sequential decision tasks, written by a language model.

import promptpo

result = promptpo.optimize("cartpole", model="openai/gpt-5", rounds=3)
print(result.best.source)
"""

from typing import TYPE_CHECKING, Any

from promptpo.version import __version__

if TYPE_CHECKING:
    from promptpo.api import check, compare, evaluate, finish, optimize
    from promptpo.checks import CheckReport
    from promptpo.comparison import Comparison
    from promptpo.config import RunConfig
    from promptpo.errors import PromptPOError
    from promptpo.evaluation import Evaluation, PolicyComparison
    from promptpo.spec import EnvSpec, load_spec
    from promptpo.store.events import Event
    from promptpo.store.run import Run, load_run
    from promptpo.store.trials import Usage
    from promptpo.types import Candidate, Rollout, Score

#: Where each public name lives; imported on first use, so that `--help` imports nothing heavy.
_HOMES = {
    "check": "promptpo.api",
    "compare": "promptpo.api",
    "evaluate": "promptpo.api",
    "finish": "promptpo.api",
    "optimize": "promptpo.api",
    "CheckReport": "promptpo.checks",
    "Comparison": "promptpo.comparison",
    "RunConfig": "promptpo.config",
    "PromptPOError": "promptpo.errors",
    "Evaluation": "promptpo.evaluation",
    "PolicyComparison": "promptpo.evaluation",
    "Run": "promptpo.store.run",
    "load_run": "promptpo.store.run",
    "EnvSpec": "promptpo.spec",
    "load_spec": "promptpo.spec",
    "Candidate": "promptpo.types",
    "Event": "promptpo.store.events",
    "Rollout": "promptpo.types",
    "Score": "promptpo.types",
    "Usage": "promptpo.store.trials",
}

__all__ = [
    "Candidate",
    "CheckReport",
    "Comparison",
    "EnvSpec",
    "Evaluation",
    "Event",
    "PolicyComparison",
    "PromptPOError",
    "Rollout",
    "Run",
    "RunConfig",
    "Score",
    "Usage",
    "__version__",
    "check",
    "compare",
    "evaluate",
    "finish",
    "load_run",
    "load_spec",
    "optimize",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute may be anything
    if name not in _HOMES:
        raise AttributeError(f"module 'promptpo' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
