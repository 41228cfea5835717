"""`make bench`: the figures of docs/performance.md and their baselines, measured in one run."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module

from tests import services

FIGURES = ("letters", "dkim", "parsing", "polls", "subscribe", "archive")
# They take minutes, so they run only when named.
BY_NAME = (
    "million",
    "segment",
    "lists",
    "export",
    "ledger",
    "large",
    "distance",
    "bridges",
    "fediverse",
    "newsletters",
    "series",
    "reader",
    "search",
    "pages",
    "memory",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    known = ", ".join((*FIGURES, *BY_NAME))
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"{known}; the first six by default")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    parser.add_argument("--sqlite", action="store_true", help="measure on SQLite instead of PostgreSQL")
    options = parser.parse_args()
    if unknown := set(options.figures) - {*FIGURES, *BY_NAME}:
        parser.error(f"there is no figure {', '.join(sorted(unknown))}")
    with installation(is_sqlite=options.sqlite):
        results = [result for name in options.figures or FIGURES for result in measure(name)]
    if options.json:
        print(json.dumps(results, indent=2))
        return 0
    for result in results:
        print(
            f"{result['figure']:<34} {result['rate']:>9,.0f} {result['unit']:<10} "
            f"{result['baseline']}: {result['baseline_rate']:>9,.0f}   ratio {result['ratio']:.2f}"
        )
    return 0


@contextmanager
def installation(*, is_sqlite: bool) -> Iterator[None]:
    """Start PostgreSQL with default settings (fsync on), unless it is for SQLite."""
    with (
        tempfile.TemporaryDirectory(prefix="feedletter-bench-") as folder,
        nullcontext(f"sqlite:///{folder}/db") if is_sqlite else services.postgres(durable=True) as server,
    ):
        os.environ.update(
            DATABASE_URL=server,
            DATA_DIR=folder,
            SECRET_KEY="only for the bench, long enough to be a key",
            ALLOW_PRIVATE_NETWORKS="127.0.0.0/8",
            DJANGO_SETTINGS_MODULE="feedletter_site.settings",
        )
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield
        from django.db import connections

        connections.close_all()


def measure(name: str) -> list[dict[str, object]]:
    module = import_module(f"bench.{name}")
    results = getattr(module, name, None) or module.figures
    result = results()
    return result if isinstance(result, list) else [result]


if __name__ == "__main__":
    sys.exit(main())
