"""Build the documentation as a site in var/docs/site: `make docs`.

The pages keep their places below the root, so that links between them work there as on a forge.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "docs")
ICON = "subscriptions/static/feedletter/favicon.svg"


def build(folder: Path) -> Path:
    """Return the folder of the site, built in `folder`; exit if there is a warning."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pages").mkdir(parents=True)
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copy(ROOT / ICON, folder / "pages")
    for name in PAGES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, folder / "pages" / name)
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, check=False)
    if built.returncode:
        sys.exit(built.returncode)
    return folder / "site"


if __name__ == "__main__":
    print(build(ROOT / "var" / "docs") / "index.html")  # noqa: T201
