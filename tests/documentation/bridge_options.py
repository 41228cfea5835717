"""The page of docs/reference/ about fields and options of bridges, from their declarations."""

from collections.abc import Iterator, Sequence

from common.ports import channels
from tests.documentation.tables import table

NOTE = "This page is written by `make reference`."


def lines() -> Iterator[str]:
    yield "# Fields and options of bridges\n"
    yield (
        "Fields are given to `subscribe` (`--access-token`), options to `define_subscribable` and "
        f"`alter_subscribable` (`--option NAME=VALUE`). [About bridges](../bridges/README.md). {NOTE}\n"
    )
    for kind in channels.all_kinds():
        if kind.key not in ("email", "webpush"):
            yield f"## {kind.label}: `{kind.key}`\n"
            yield from rows("field", kind.destination_fields)
            yield from rows("option", kind.option_fields)


def rows(title: str, fields: Sequence[channels.Field]) -> Iterator[str]:
    if fields:
        listed = ((f"`{each.name}`", each.label, choices_of(each), each.help) for each in fields)
        yield from table((title, "in the admin", "values", "meaning"), listed)


def choices_of(field: channels.Field) -> str:
    # Names of accounts are in the database.
    if field.choices is None or field.name == "account":
        return ""
    return ", ".join(f"{f'`{value}`' if value else 'empty'}: {label}" for value, label in field.choices())
