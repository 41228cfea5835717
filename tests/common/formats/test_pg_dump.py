"""Dumps of PostgreSQL that aren’t plain are named, with what to do."""

import io

import pytest

from common.formats.pg_dump import dumped_tables, refuse_unless_plain
from common.refused import Refused


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (b"PGDMP\x01\x0e", "custom-format dump. Make a plain one: pg_dump --format=plain"),
        (b"toc.dat" + bytes(250) + b"ustar", "tar archive. Make a plain one"),
        (b"\x1f\x8b\x08", "compressed. Unpack it"),
        (b"PK\x03\x04", "compressed. Unpack it"),
        ("\ufeff--".encode("utf-16-le"), "UTF-16"),
    ],
)
def test_other_forms_say_how_to_make_a_plain_dump(start: bytes, says: str) -> None:
    with pytest.raises(Refused, match=says):
        refuse_unless_plain(start)


def test_a_plain_dump_is_read_and_one_of_inserts_is_refused() -> None:
    refuse_unless_plain(b"--\n-- PostgreSQL database dump\n--\n")
    with pytest.raises(Refused, match="without --inserts"):
        list(dumped_tables(io.StringIO("--\nINSERT INTO public.feed VALUES (1);\n")))
