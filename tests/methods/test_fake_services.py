"""The fake has the shape of the services; that of a run's is checked by mypy."""

import inspect

from fake_services import FakeServices

from promptpo.methods import Services


def shape(kind, name):
    part = getattr(kind, name)
    parameters = inspect.signature(part).parameters.values()
    return inspect.iscoroutinefunction(part), [(p.name, p.kind, p.default) for p in parameters]


def test_the_fake_takes_what_the_protocol_says_and_has_what_every_method_may_read():
    methods = {n for n, part in vars(Services).items() if n.islower() and inspect.isfunction(part)}
    methods = {name for name in methods if not name.startswith("_")}
    assert methods == {
        "ask", "seeds", "play", "prepare", "episodes", "summarize", "coverage", "tuning",
        "open_round", "record", "report",
    }  # fmt: skip
    for name in methods:
        assert shape(FakeServices, name) == shape(Services, name), name
    assert all(hasattr(FakeServices(), name) for name in ("spec", "config", "task"))
