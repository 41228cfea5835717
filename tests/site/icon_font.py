"""`python -m tests.site.icon_font`: make the admin's icon font anew, with the icons that are used.

Unfold's has 4,000. An icon is a ligature of the letters of its name, such as “format_bold”.
"""

import re
from pathlib import Path
from typing import Any

import unfold
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from tests.e2e.processes import ROOT

UNFOLD = Path(unfold.__file__).parent
NAME = "fonts/material-symbols/Material-Symbols-Outlined.woff2"
EVERY, OURS = UNFOLD / "static/unfold" / NAME, ROOT / "feedletter_site/unfold_static/unfold" / NAME
APPS = ("common", "feeds", "subscriptions", "delivery", "reader", "chat", "feedletter_site", "templates")
WORD = re.compile(r"""(?:["'>\s]|^)([a-z][a-z0-9_]{2,40})(?=["'<\s]|$)""")


def words() -> set[str]:
    """Return all words that may be names of icons."""
    folders = [UNFOLD, *(ROOT / app for app in APPS)]
    kinds = ("*.html", "*.py", "*.js", "*.css")
    files = [file for folder in folders for kind in kinds for file in folder.rglob(kind)]
    return {word for file in files for word in WORD.findall(file.read_text(errors="ignore"))}


def icons(font: Any) -> dict[str, str]:
    """Return the font's glyphs by the names of icons."""
    letters = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    found = {}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for first, ligatures in getattr(getattr(table, "ExtSubTable", table), "ligatures", {}).items():
                for each in ligatures:
                    found["".join(letters.get(glyph, "") for glyph in (first, *each.Component))] = (
                        each.LigGlyph
                    )
    return found


def main() -> None:
    font = TTFont(EVERY)
    glyphs = icons(font)
    options = Options(layout_features=["*"], layout_closure=False, hinting=False, name_IDs=[], flavor="woff2")
    subsetter = Subsetter(options)
    used = [glyphs[name] for name in sorted(words() & glyphs.keys())]
    subsetter.populate(glyphs=used, text="abcdefghijklmnopqrstuvwxyz0123456789_")
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(OURS)
    print(f"{len(used)} icons, {OURS.stat().st_size:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
