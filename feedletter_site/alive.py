"""Health check: `python -I feedletter_site/alive.py poll` exits with 0 while that process is alive.

Alive: it finished a pass and reached the database within three minutes. Uses only the standard library,
because a container runs it all day.
"""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from common.program import IS_CHECKOUT, USUAL_DATA_DIR  # noqa: E402 - isolated mode finds no module of ours

LONGEST_SILENCE = 180.0


def silence(role: str, folder: Path) -> str:
    """Return an error, or ""."""
    try:
        age = time.time() - (folder / "alive" / role).stat().st_mtime
    except OSError:
        return f"{role} has not finished anything yet, or has ended."
    if age > LONGEST_SILENCE:
        return f"{role} has finished no work, or not reached the database, for {age:.0f} seconds."
    return ""


def main(roles: list[str]) -> int:
    folder = (ROOT if IS_CHECKOUT else Path()) / (os.environ.get("DATA_DIR") or USUAL_DATA_DIR)
    troubles = [trouble for role in roles if (trouble := silence(role, folder))]
    for trouble in troubles:
        print(trouble, file=sys.stderr)  # noqa: T201 - there is no logging without settings
    return 1 if troubles or not roles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
