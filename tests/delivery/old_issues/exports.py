"""Exports of other programs, from tests/fixtures/migrations/old_issues."""

import io
import zipfile
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures" / "migrations" / "old_issues"
# Titles of the issues to take, oldest first.
TAKEN = {
    "substack": ["The ferry is late", "Low tide"],
    "mailchimp": ["Harbour news for", "Monthly: June", "Monthly: July"],
    "buttondown": ["A plain email", "A fancy email"],
    "ghost.json": ["Fog on the pier", "Ropes"],
    "listmonk.json": ["April for", "May"],
    "listmonk.sql": ["April", "Plain"],
    "wordpress": ["Fog on the pier", "Ropes and knots"],
    "beehiiv.csv": ["Herring again", "Nets"],
}


def zipped(folder: Path, *, inside: str = "") -> bytes:
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                file.write(path, f"{inside}{path.relative_to(folder)}")
    return room.getvalue()


def export(name: str) -> bytes:
    place = FIXTURES / name
    return (
        zipped(place, inside="export/" if name == "mailchimp" else "")
        if place.is_dir()
        else place.read_bytes()
    )
