"""`python -m tests.upgrade.frozen`: freeze the migrations, as part of a release.

The record has the format of sha256sum, in the order of the names.
"""

from hashlib import sha256
from pathlib import Path

from tests.databases import ROOT

RECORD = Path(__file__).with_name("frozen.txt")
FILES = "*/migrations/[0-9]*.py"
WAY_OUT = (
    "It was released, so databases have it. Restore it (git checkout the release's tag), "
    "and put the change into a new migration: docs/architecture.md#migrations."
)


def digests(root: Path) -> dict[str, str]:
    """Return the digest of each migration by its path, in order."""
    files = sorted(root.glob(FILES))
    return {str(file.relative_to(root)): sha256(file.read_bytes()).hexdigest() for file in files}


def frozen() -> dict[str, str]:
    lines = (line.split() for line in RECORD.read_text(encoding="utf-8").splitlines())
    return {path: digest for digest, path in lines}


def violations(root: Path) -> list[str]:
    """Return a sentence for each frozen migration that is missing, changed or no longer the first."""
    there, record = digests(root), frozen()
    sentences = []
    for path, digest in record.items():
        if path not in there:
            sentences.append(f"{path} is missing. {WAY_OUT}")
        elif there[path] != digest:
            sentences.append(f"{path} was changed. {WAY_OUT}")
    last = {path.split("/")[0]: path for path in record}
    sentences += [
        f"{path} is before {last[app]}, which was released. Give it a later number."
        for path in there.keys() - record.keys()
        if (app := path.split("/")[0]) in last and path < last[app]
    ]
    return sentences


def freeze() -> None:
    if broken := violations(ROOT):
        raise SystemExit("\n".join(broken))
    lines = (f"{digest}  {path}\n" for path, digest in digests(ROOT).items())
    RECORD.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    freeze()
