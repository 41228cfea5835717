import pytest

from channels.letter import Letter, Recipient
from channels.placeholders import BUILT_IN, Placeholders, UnknownField, field_names, values_for
from tests.delivery.rendering.samples import entry


def letter(**changes: object) -> Letter:
    given: dict = {
        "kind": "issue",
        "newsletter": "valley",
        "title": "T",
        "subject": "S",
        "html": "",
        "text": "",
        "token": "t",
        "from_email": "Valley <valley@example.org>",
    }
    return Letter(**{**given, **changes})


def recipient(name: str = "") -> Recipient:
    return Recipient(
        delivery_id=1,
        core="ada@example.net",
        label="Ada@example.net",
        name=name,
        unsubscribe_url="https://l.example/u/",
        manage_url="https://l.example/m/",
    )


def test_every_built_in_field_has_a_value() -> None:
    assert set(values_for(letter(), recipient())) == {name.lower() for name in BUILT_IN}


def test_the_recipient_with_and_without_a_name() -> None:
    named, nameless = values_for(letter(), recipient("Ada")), values_for(letter(), recipient())
    assert (named["to"], named["tofull"]) == ("Ada <Ada@example.net>", "Ada <Ada@example.net>")
    assert (named["tonickname"], named["tonicknameoremail"]) == ("Ada", "Ada")
    assert (nameless["to"], nameless["tonickname"]) == ("Ada@example.net", "")
    assert nameless["tonicknameoremail"] == "Ada@example.net"


def test_a_name_with_commas_and_quotes_is_written_in_quotes() -> None:
    assert values_for(letter(), recipient('Love, "Ada"'))["to"] == r'"Love, \"Ada\"" <Ada@example.net>'


def test_links_are_the_recipients_own() -> None:
    values = values_for(letter(archive_url="https://l.example/a/"), recipient())
    assert values["removelink"] == "https://l.example/u/"
    assert values["managelink"] == "https://l.example/m/"
    assert values["weblink"] == values["archivelink"] == "https://l.example/a/"


def test_without_an_archive_the_only_post_is_where_to_read_it() -> None:
    assert values_for(letter(entries=(entry(1),)), recipient())["weblink"] == "https://blog.example/1"
    assert values_for(letter(entries=(entry(1), entry(2))), recipient())["weblink"] == ""


def test_an_extra_parameter_is_a_field_and_a_built_in_wins_unless_blank() -> None:
    params = {"Motto": "Rain", "toEmail": "other@example.org", "replyTo": "answers@example.org"}
    values = values_for(letter(params=params), recipient())
    assert values["motto"] == "Rain"
    assert values["toemail"] == "Ada@example.net"
    assert values["replyto"] == "answers@example.org"


def test_an_unknown_field_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownField, match=r"no field %Nonsense%.*%toEmail%.*%Motto%"):
        Placeholders({"Motto": "x"}).token("Nonsense")


def test_field_names_keep_the_writing_of_their_owner() -> None:
    names = field_names({"Motto": "x", "TOEMAIL": "y"})
    assert names["motto"] == "Motto"
    assert names["toemail"] == "toEmail"
