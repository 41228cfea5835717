"""`make pictures`: makes the pictures of README and docs/; PICTURES="NAME …" selects some.

Each scene runs in a new process, with an empty database and a fixed clock, so that the same program
makes the same pictures on every day.
"""
# ruff: noqa: T201 - its words are for whoever typed `make pictures`

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tests.documentation.stage import browser, served, set_up

# Each scene: its module, the site's URL, the sender.
SCENES = {
    "demo": (
        "tests.documentation.demo_pictures",
        "http://letters.harbour.example",
        "Harbour Notes <letters@harbour.example>",
    ),
    "bridges": (
        "tests.documentation.bridge_pictures",
        "http://letters.harbour.example",
        "Harbour Notes <letters@harbour.example>",
    ),
    "tutorial": (
        "tests.documentation.tutorial_pictures",
        "http://127.0.0.1:8000",
        "Feedletter <letters@example.org>",
    ),
}
PLAY = "--play"


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == [PLAY]:
        play(arguments[1], arguments[2:])
        return 0
    this = [sys.executable, "-m", "tests.documentation.pictures", PLAY]
    playing = [subprocess.Popen([*this, scene, *arguments]) for scene in SCENES]
    return max(process.wait() for process in playing)


def play(scene: str, names: Sequence[str]) -> None:
    """Take the scene's pictures; with `names`, only these."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        module, address, sender = SCENES[scene]
        stage = set_up(Path(folder), address, sender)
        played = import_module(module)
        shots = import_module("tests.documentation.shots")
        wanted = {name: shot for name, shot in played.PICTURES.items() if not names or name in names}
        if not wanted:
            return
        shots.make_admin()
        with played.scene(stage), served(stage), browser(stage) as chromium:
            print(f"{scene}: set after {time.monotonic() - began:.0f} seconds", flush=True)
            for name, shot in wanted.items():
                said = shots.keep(name, shots.picture(chromium, stage, shot), photo=shot.photo)
                print(f"{scene}: {name}: {said}", flush=True)
    print(f"{scene}: {time.monotonic() - began:.0f} seconds", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
