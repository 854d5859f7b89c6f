"""``promptpo prompt SPEC``: print exactly what a model would be sent, stage by stage."""

from __future__ import annotations

import argparse

from promptpo.cli.parser import Parser, add_preset, add_settings
from promptpo.cli.specs import add_specs, given_spec
from promptpo.common.terminal import say
from promptpo.errors import UsageError
from promptpo.methods import check_tunes, find_method
from promptpo.run.settings import build

#: The settings that show in a prompt.
_SHOWN = (
    "method",
    "published_prompt",
    "facts",
    "act_timeout",
    "episode_timeout",
    "policy_lifetime",
    "evaluation_episodes",
    "tune",
    "prepare_time",
    "episodes",
)


def parser() -> Parser:
    """Return the parser: the spec, and the settings that show in a prompt."""
    p = Parser("prompt")
    add_specs(p)
    add_settings(p, ("spec", *_SHOWN), methods=True)
    add_preset(p.add_argument_group("where settings come from"))
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    if not (ref := given_spec(arguments)):
        raise UsageError("name the spec whose prompts are to be shown: promptpo prompt SPEC")
    settings = build({**vars(arguments), "spec": ref})
    if settings.tune:
        check_tunes(settings.method)
    from promptpo.spec import load_spec

    spec = load_spec(settings.spec, published=settings.published_prompt, limit=settings.env_timeout)
    method = find_method(settings.method)
    stages = method.all_prompts(spec, settings)
    if not stages:
        why = "does not show its prompts" if method.needs_model else "asks no model"
        say(f"the method {settings.method} {why}")
    for stage, messages in stages:
        say(f"{'=' * 20} {stage} {'=' * max(4, 78 - len(stage))}")
        for message in messages:
            say(f"{'-' * 20} {message.role}\n{message.content}\n")
    return 0
