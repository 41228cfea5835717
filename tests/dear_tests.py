"""`python -m tests.dear_tests`, after `.ci/run`: lists quick tests that take too long for `make test`."""

import subprocess
import sys
from pathlib import Path

from tests.workers import recorded

LIMIT_SECONDS = 0.3
FILE = Path(__file__).parent / "dear_tests.txt"


def main() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow or slow(dear=True)"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    seconds = recorded()
    dear = {test.partition("[")[0] for test in listed if seconds.get(test, 0) > LIMIT_SECONDS}
    FILE.write_text("".join(f"{test}\n" for test in sorted(dear)))


if __name__ == "__main__":
    main()
