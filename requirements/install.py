"""Install a file of requirements with pip, and print every few seconds how far it is.

`python requirements/install.py FILE "about half a minute"`; needs only the standard library and pip.
"""
# ruff: noqa: T201

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

EVERY_SECONDS = 4.0
# Modules are compiled when they are first imported, which saves a third of the time.
PIP = ["pip", "install", "--quiet", "--quiet", "--disable-pip-version-check", "--no-compile"]


def main(file: str, duration: str) -> int:
    wanted = sum("==" in line and not line[0].isspace() for line in Path(file).read_text().splitlines())
    folder = Path(sysconfig.get_path("purelib"))
    began = said = time.monotonic()
    print(f"Installing {wanted} packages into .venv ({duration}) …", flush=True)
    pip = subprocess.Popen([sys.executable, "-m", *PIP, "-r", file])  # noqa: S603 - our own command
    while pip.poll() is None:
        time.sleep(0.1)
        if time.monotonic() - said >= EVERY_SECONDS:
            said = time.monotonic()
            there = min(len([*folder.glob("*.dist-info")]), wanted)
            done = f"installed {there} of {wanted}" if there > 2 else "downloading"
            print(f"  {said - began:.0f} s: {done}", flush=True)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
