import pytest


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """Neither keys nor servers of the machine's own."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE",
                 "OLLAMA_API_BASE", "PROMPTPO_MODEL"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
