"""The server room of docs/specs.md: a spec with metrics, constraints and an objective."""

import re
from pathlib import Path

_GUIDE = Path(__file__).parents[1] / "docs" / "specs.md"


def write_room(folder, *changes):
    """Write it, with texts replaced by others, to a file in the folder."""
    text = re.search(r'```python\n("""Server room.+?)```', _GUIDE.read_text(), re.DOTALL)[1]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "room.py"
    path.write_text(text)
    return path
