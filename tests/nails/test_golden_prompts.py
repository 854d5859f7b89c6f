"""Every prompt of every shipped spec is, byte for byte, the one whose digest is kept.

Recordings are matched by their prompts, and figures in the docs were measured with them.
"""

import re

import pytest
from golden_files import digest, golden, hold
from shipped import needs_sumo

from promptpo.cli import main
from promptpo.methods import OWN_METHODS
from promptpo.spec import shipped_specs

SAMPLE = ("blackjack", "cartpole", "mujoco_hopper", "noise_world_unknown")


def digests(spec, capsys):
    """Return the digest of what is sent at each stage, by spec, method, preset and stage."""
    found = {}
    for method in OWN_METHODS:
        for preset in ([], ["--preset", "paper"]):
            code = main(["prompt", spec, "--method", method, *preset])
            printed = capsys.readouterr().out
            parts = re.split(r"^={20} (.+?) =+\n", printed, flags=re.MULTILINE)
            stages = zip(parts[1::2], parts[2::2], strict=True)
            name = f"{spec} {method} {''.join(preset[1:]) or 'default'}"
            found[name] = {stage: digest(text) for stage, text in stages}
            found[name] |= {"refused": code} if code else {}
    return found


@pytest.mark.parametrize("spec", SAMPLE)
def test_the_prompts_of_a_sample_of_specs_are_unchanged(spec, capsys):
    hold("prompts", digests(spec, capsys))


@pytest.mark.slow
@pytest.mark.parametrize("spec", sorted(set(shipped_specs()) - {*SAMPLE, "traffic"}))
def test_the_prompts_of_every_other_spec_are_unchanged(spec, capsys):
    hold("prompts", digests(spec, capsys))


@pytest.mark.slow
@needs_sumo
def test_the_prompts_of_traffic_are_unchanged(capsys):
    hold("prompts", digests("traffic", capsys))


def test_every_spec_and_method_has_its_prompts_kept():
    kept = {tuple(name.split()[:2]) for name in golden("prompts")}
    assert kept == {(spec, method) for spec in shipped_specs() for method in OWN_METHODS}
