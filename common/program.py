"""Where this program is, and what a person types to start it. Uses only the standard library."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IS_CHECKOUT = (ROOT / "manage.py").is_file()
if IS_CHECKOUT:
    MANAGE, START, DEMO = "manage.py", "make run", "make demo"
    USUAL_DATA_DIR = ROOT / "var"
else:
    MANAGE, START, DEMO = "feedletter", "feedletter up", "feedletter demo"
    # XDG Base Directory Specification
    # Path.expanduser raises for users without a home.
    _DATA_HOME = os.path.expanduser(os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    USUAL_DATA_DIR = Path(_DATA_HOME) / "feedletter"


def for_pages(request: object) -> dict[str, str]:
    """Context processor."""
    return {"manage": MANAGE, "start": START}
