"""`python -I feedletter_site/alive.py poll`: whether the worker (or beat) of this name on this machine lives.

Exits 0 when it finished a pass, and reached the database, in the last three minutes; else 1 with a sentence.
It needs the standard library only: a container runs it as its health check, all day long.
"""

import os
import sys
import time
from pathlib import Path

LONGEST_SILENCE = 180.0


def silence(role: str, folder: Path) -> str:
    """What is wrong with the worker; "" when nothing is."""
    try:
        age = time.time() - (folder / "alive" / role).stat().st_mtime
    except OSError:
        return f"{role} has not finished anything yet, or has ended."
    if age > LONGEST_SILENCE:
        return f"{role} has finished nothing, or not reached the database, for {age:.0f} seconds."
    return ""


def main(roles: list[str]) -> int:
    folder = Path(__file__).resolve().parent.parent / (os.environ.get("DATA_DIR") or "var")
    troubles = [trouble for role in roles if (trouble := silence(role, folder))]
    for trouble in troubles:
        print(trouble, file=sys.stderr)  # noqa: T201 - there is no logging without settings
    return 1 if troubles or not roles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
