"""The migrations that are out, each with its digest: what a database was made by must not change.

    python -m tests.upgrade.frozen

adds those that are new to the list, and touches no line that is there.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).parent / "frozen.txt"
PACKAGES = ("feeds", "subscriptions", "delivery", "reader", "chat", "feedletter_site")


def migrations() -> dict[str, str]:
    """The digest of each migration there is, by its path."""
    found = [
        path for package in PACKAGES for path in sorted((ROOT / package / "migrations").glob("[0-9]*.py"))
    ]
    return {str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def listed() -> dict[str, str]:
    """The digests that were written down, by path."""
    lines = LIST.read_text(encoding="ascii").splitlines()
    return {path: digest for digest, path in (line.split() for line in lines)}


def main() -> None:
    known = listed()
    new = {path: digest for path, digest in migrations().items() if path not in known}
    with LIST.open("a", encoding="ascii") as file:
        file.writelines(f"{digest}  {path}\n" for path, digest in new.items())


if __name__ == "__main__":
    main()
