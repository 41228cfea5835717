"""The translation catalogues (locale/) contain all texts for readers, and match their compiled form."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.utils import translation
from django.utils.translation.template import templatize

ROOT = Path(settings.BASE_DIR)
LANGUAGES = [code for code, _ in settings.LANGUAGES if not code.startswith("en")]
PACKAGES = (
    "common",
    "feeds",
    "subscriptions",
    "channels",
    "delivery",
    "reader",
    "fediverse",
    "chat",
    "feedletter_site",
)
# Texts for people who run the site are English (as in the Makefile's `messages`).
ENGLISH = {"admin", "api", "management"}
KEYWORDS = ("gettext_noop", "gettext_lazy", "ngettext_lazy:1,2", "pgettext:1c,2", "pgettext_lazy:1c,2")
PLACE = re.compile(r"%\((\w+)\)([sd])")
Message = tuple[str | None, str, str]
# Names of places that hold numbers. Others, such as %(id)s, are names or text.
NUMBERS = re.compile(
    r"%\((n|count|number|most|limit|longest|shown|more|posts|times|tries_left|minutes|hours|days|characters)\)|%d"
)
# Words that the rest of a catalogue does not use, and spacing that breaks a line before a mark.
UNWANTED = {
    "de": [
        r"\bBriefe?n?\b|(?<![-\w])Mails?(?!\w)|(?<![-\w])Mailserver|Sehen Sie in Ihre\b",
        r"Sammlung|[Pp]ost(e|en|et)\b|Mitteilung|verborgen|[Tt]ippen|Weitersagen|Tasten\b|folgen Sie etwas",
    ],
    "fr": [
        r" [?!;:]|« | »|\w\(e\)|\w·e|[“”]",
        r"[Rr]églages?|cachée?s?\b|désabonnée?\b|favoris|[Tt]ouche[sz]?\b|\bd’un geste|heure de\b",
    ],
    "es": [
        r"\b[Pp]ublicaci(ón|ones)\b|\b[Ff]uentes?\b|(?<!\()\b[Pp]osts?\b|[“”]",
        r"\b[Ee]ntrar\b|\bórdenes\b|quizás|enlaces? de acceso|\b[Tt]oque\b|suscritos?\b|Teclas\b",
    ],
    "pt": [
        r"[Aa]ssin(e|ar|antes?|aturas?)\b|[Gg]rava[rd]|[Dd]escarreg|[Aa]crescent|[Ll]íngua|[Pp]rocurar feeds",
        r"\b[Ee]ntrar\b(?! em vigor)|anfitrião|o próprio\b|[Oo]brigado|\bToque|Teclas\b|[“”]",
        r"\b[Uu]suário|\bsenhas?\b|\b[Aa]rquivo JSON|celular|\btela\b|aplicativo",
    ],
    "pt-br": [
        r"palavras?-passe|[Ff]icheiro|telemóvel|ecrã|utilizador|[Dd]efinições|[Pp]redefini|[Aa]plicações",
        r"[Ss]ubscr|\bsessão\b|\bestá a \w+r\b|[Gg]rava[rd]|[Ee]limin|\b[Pp]artilh|\bsi\b(?!,)|[«»]",
        r"[Ee]nviámos|[Dd]emasiad|[Oo]brigado|\bToque|Teclas\b",
    ],
}
# Discord itself says du and tú, so that the formal address would be stiff there.
ADDRESS = {
    "de": r"\bSie\b|\bIhre?[nms]?\b",
    "fr": r"\b[Vv](ous|otre|os)\b|\w+ez\b",
    "es": r"\b[Uu]sted\b|\b(Use|Elija|Quite|Ponga|Pruebe|Añada|Espere|Pida|Escriba)\b",
    "pt": r"\b[Vv]ocê\b|\b(Use|Escolha|Remova|Ponha|Adicione|Espere|Tente|Peça|Indique)\b",
    "pt-br": r"\b[Vv]ocê\b|\b(Use|Escolha|Remova|Ponha|Adicione|Espere|Tente|Peça|Informe)\b",
}


def folder_of(language: str) -> Path:
    return ROOT / "locale" / translation.to_locale(language) / "LC_MESSAGES"


def catalogue(language: str) -> polib.POFile:
    return polib.pofile(str(folder_of(language) / "django.po"))


def texts(entry: polib.POEntry | polib.MOEntry) -> list[str]:
    """Return all translations of an entry."""
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def message_of(entry: polib.POEntry) -> Message:
    return entry.msgctxt, entry.msgid, entry.msgid_plural


def sources() -> dict[str, str]:
    """Return every file with texts for readers, as Python for xgettext."""
    files = [*ROOT.glob("templates/**/*.html"), *ROOT.glob("templates/**/*.txt")]
    found = {path: templatize(path.read_text(encoding="utf-8")) for path in files}
    for path in (path for package in PACKAGES for path in ROOT.glob(f"{package}/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if "gettext" in text:
            found[path] = text
    names = {path.relative_to(ROOT): text for path, text in found.items()}
    return {str(path): text for path, text in names.items() if not ENGLISH & set(path.parts)}


def said(folder: Path) -> frozenset[Message]:
    """Return all messages of the program, each with its context and plural if any."""
    if shutil.which("xgettext") is None:
        if os.environ.get("REQUIRE_SERVICES") == "1":
            pytest.fail("xgettext is missing: install gettext.")
        pytest.skip("xgettext is missing")
    names = []
    for number, text in enumerate(sources().values()):
        names.append(f"{number}.py")
        (folder / names[-1]).write_text(text, encoding="utf-8")
    keywords = [f"--keyword={each}" for each in KEYWORDS]
    command = ["xgettext", "--language=Python", "--from-code=UTF-8", *keywords, "--output=said.pot", *names]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return frozenset(map(message_of, polib.pofile(str(folder / "said.pot"))))


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> frozenset[Message]:
    return said(tmp_path_factory.mktemp("said"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_that_is_said_is_in_the_catalogue_and_nothing_else(
    language: str, messages: frozenset[Message]
) -> None:
    there = {message_of(entry) for entry in catalogue(language) if not entry.obsolete}
    assert there == messages, "run `make messages`, and translate what is new"


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_is_translated_with_its_places(language: str) -> None:
    for entry in catalogue(language):
        places = [set(PLACE.findall(text)) for text in filter(None, (entry.msgid, entry.msgid_plural))]
        assert not entry.fuzzy, entry.msgid
        for text in texts(entry):
            assert text.strip(), entry.msgid
            assert set(PLACE.findall(text)) in places, entry.msgid
            assert text.count("<strong>") == text.count("</strong>") == entry.msgid.count("<strong>"), text
            assert text.count("<bdi>") == entry.msgid.count("<bdi>"), text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_passes_the_checks_of_gettext(language: str) -> None:
    if shutil.which("msgfmt") is None and os.environ.get("REQUIRE_SERVICES") != "1":
        pytest.skip("msgfmt is missing")
    path = folder_of(language) / "django.po"
    subprocess.run(["msgfmt", "--check", "--output-file", os.devnull, path], check=True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_plurals_have_as_many_forms_as_the_language(language: str) -> None:
    there = catalogue(language)
    forms = re.match(r"nplurals=(\d+); plural=\(", there.metadata["Plural-Forms"])
    assert forms is not None
    for entry in there:
        assert not entry.msgid_plural or len(entry.msgstr_plural) == int(forms[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_compiled_is_the_catalogue(language: str) -> None:
    compiled = polib.mofile(str(folder_of(language) / "django.mo"))
    written = {(entry.msgid, *texts(entry)) for entry in catalogue(language)}
    assert {(entry.msgid, *texts(entry)) for entry in compiled} == written, "run `make messages`"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_other_catalogue_comes_before_ours(language: str) -> None:
    with translation.override(language):
        for entry in catalogue(language):
            if entry.msgid_plural:
                forms = {translation.ngettext(entry.msgid, entry.msgid_plural, n) for n in range(3)}
                assert forms == set(texts(entry))
            elif entry.msgctxt:
                assert translation.pgettext(entry.msgctxt, entry.msgid) == entry.msgstr
            else:
                assert translation.gettext(entry.msgid) == entry.msgstr


def test_a_call_within_an_f_string_is_not_found_by_xgettext_so_there_is_none() -> None:
    within = re.compile(r"\{n?gettext(_lazy)?\(")
    assert not [name for name, text in sources().items() if within.search(text)]


def test_a_number_has_a_plural_as_some_languages_have_several(messages: frozenset[Message]) -> None:
    assert [text for _context, text, plural in messages if NUMBERS.search(text) and not plural] == []


@pytest.mark.parametrize("language", UNWANTED)
def test_one_thing_has_one_word_and_marks_stay_with_theirs(language: str) -> None:
    written = [text for entry in catalogue(language) for text in texts(entry)]
    found = [text for text in written for pattern in UNWANTED[language] if re.search(pattern, text)]
    assert found == []


@pytest.mark.parametrize("language", ADDRESS)
def test_the_bot_speaks_without_address(language: str) -> None:
    entries = [entry for entry in catalogue(language) if entry.occurrences]
    of_bot = [entry for entry in entries if all(path.startswith("chat/") for path, _ in entry.occurrences)]
    written = [text for entry in of_bot for text in texts(entry)]
    assert written
    assert [text for text in written if re.search(ADDRESS[language], text)] == []
