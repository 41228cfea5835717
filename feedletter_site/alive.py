"""Health check: `python -I feedletter_site/alive.py poll` exits with 0 while that process is alive.

Alive: it finished a pass and reached the database within three minutes. Uses only the standard library,
because a container runs it all day.
"""

import os
import sys
import time
from pathlib import Path

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
    folder = Path(__file__).resolve().parent.parent / (os.environ.get("DATA_DIR") or "var")
    troubles = [trouble for role in roles if (trouble := silence(role, folder))]
    for trouble in troubles:
        print(trouble, file=sys.stderr)  # noqa: T201 - there is no logging without settings
    return 1 if troubles or not roles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
