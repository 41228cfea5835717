"""The `feedletter` command of an installed package; a checkout has `manage.py`.

`feedletter celery …` runs Celery's command, as a worker or beat.

All packages are in the folder of this file. Only this command puts it on Python's path, so that names such
as `common` can't collide with those of other distributions.
"""

import os
import sys
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        print(f"Feedletter {version('feedletter')}")  # noqa: T201 - there is no Django yet
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from common.program import USUAL_DATA_DIR

    folder = Path(os.environ.get("DATA_DIR") or USUAL_DATA_DIR).absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        add_to_environment(folder / ".env")
    except OSError as error:
        sys.exit(f"DATA_DIR cannot be used ({error.strerror}: {error.filename}).")
    # Modules of hooks: Python has read PYTHONPATH, but not that of the file.
    sys.path += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    # Another project's settings may be exported.
    os.environ |= {"DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    if sys.argv[1:2] == ["celery"]:
        os.chdir(Path(__file__).resolve().parent)
        os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])  # noqa: S606 - our own interpreter
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def add_to_environment(path: Path) -> None:
    """Read lines of NAME=value, as systemd and Compose do. Variables that are set win."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not name or name.startswith("#"):
            continue
        if not equals:
            sys.exit(f"Line {number} of {path} is wrong: expected NAME=value.")
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        os.environ.setdefault(name, value[1:-1] if is_quoted else value)
