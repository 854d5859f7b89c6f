"""The fake has the shape of what it stands for."""

import inspect

import pytest
from fake_services import FakeServices

from promptpo.methods import Services
from promptpo.run.services import RunServices

PARTS = [name for name in vars(Services) if not name.startswith("_") and name.islower()]
METHODS = [name for name in PARTS if callable(getattr(Services, name, None))]


def test_all_services_are_looked_at():
    assert set(METHODS) == {
        "ask", "seeds", "play", "prepare", "episodes", "summarize", "coverage", "tuning",
        "open_round", "record", "report",
    }  # fmt: skip


@pytest.mark.parametrize("services", [FakeServices, RunServices])
@pytest.mark.parametrize("name", METHODS)
def test_each_takes_what_the_protocol_says(services, name):
    def shape(kind):
        part = getattr(kind, name)
        parameters = inspect.signature(part).parameters.values()
        return inspect.iscoroutinefunction(part), [(p.name, p.kind, p.default) for p in parameters]

    assert shape(services) == shape(Services)


@pytest.mark.parametrize("name", ["spec", "config", "task"])
def test_the_fake_has_what_every_method_may_read(name):
    assert hasattr(FakeServices(), name)
