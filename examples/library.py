"""promptpo as a library: find a policy, hold it against others, look at what the run left behind.

    python examples/library.py

It replays the recording that ships with CartPole, so it needs no key and no network; with
``model="openai/gpt-5"``, say, it is a search. The run lies in ``runs/`` of the current folder.
"""

import promptpo


class Policy:
    """Push to the side that the pole leans to: the idea that comes to mind first."""

    def act(self, observation):
        return 1 if observation.pole_angle > 0 else 0


def main() -> None:
    """Search, score, compare, and read the run again."""
    result = promptpo.optimize(
        "cartpole", model="recorded", rounds=2, test_episodes=20, progress=True
    )

    print("\nIts policy against ours and against random actions, on the same episodes:\n")
    contestants = (result, Policy, "random")
    print(promptpo.compare(*(promptpo.evaluate(c, "cartpole", episodes=20) for c in contestants)))

    run = promptpo.load_run(result.folder)
    print(f"\n{run!r} has {len(run.candidates)} candidates:\n")
    for candidate in run.candidates:
        print(f"  {candidate.name}  {candidate.score}")
    print(f"\nThe best one:\n\n{run.policy}")


if __name__ == "__main__":
    main()
