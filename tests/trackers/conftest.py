import pytest


@pytest.fixture(autouse=True)
def settings_of_nobody(monkeypatch, tmp_path):
    """Trackers read the environment and the home folder; those of who runs the tests stay out."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "WANDB_PROJECT", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("HOME", str(tmp_path))
