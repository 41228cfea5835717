"""A newsletter's rhythm, in the reader's words."""

from dataclasses import asdict
from datetime import time
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from subscriptions.admin_words import rhythm_for_admins
from subscriptions.models import Subscribable
from subscriptions.newsletters.rhythm import in_words
from subscriptions.rules.schedule import Schedule

PARIS = ZoneInfo("Europe/Paris")
SIMPLE = ["0 18 * * 1,4", "0 7 * * 1-5", "0 7 1,15,L * *", "30 7,18 * * *"]


@pytest.mark.parametrize(
    ("schedule", "n", "words"),
    [
        (Schedule("each"), None, "each post as it appears"),
        (Schedule("every_n"), 1, "each post as it appears"),
        (Schedule("every_n"), 3, "every 3 posts"),
        (Schedule("daily", time(7)), None, "every day at 7:00, New York time"),
        (Schedule("weekly", time(7), 0), None, "every Monday at 7:00, New York time"),
        (Schedule("weekly", time(18, 5), 6), None, "every Sunday at 18:05, New York time"),
        (Schedule("monthly", time(7)), None, "on the 1st of each month at 7:00, New York time"),
        (
            Schedule("monthly", time(7), day_of_month=12),
            None,
            "on the 12th of each month at 7:00, New York time",
        ),
        (
            Schedule("monthly", time(7), day_of_month=22),
            None,
            "on the 22nd of each month at 7:00, New York time",
        ),
        (
            Schedule("monthly", time(0), day_of_month=30),
            None,
            "on the 30th of each month (or its last day) at 0:00, New York time",
        ),
        (
            Schedule("monthly", time(7), day_of_month=31),
            None,
            "on the last day of each month at 7:00, New York time",
        ),
        (Schedule("cron", cron="0 18 * * 1,4"), None, "every Monday and Thursday at 18:00, New York time"),
        (
            Schedule("cron", cron="0 7 * * MON-FRI"),
            None,
            "every day from Monday to Friday at 7:00, New York time",
        ),
        (Schedule("cron", cron="30 7,18 * * *"), None, "every day at 7:30 and 18:30, New York time"),
        (
            Schedule("cron", cron="0 7 1,15,L * *"),
            None,
            "on the 1st, 15th and last day of each month at 7:00, New York time",
        ),
        (
            Schedule("cron", cron="0 7 * * 5L"),
            None,
            "at 07:00 on the last Friday of the month, New York time",
        ),
    ],
)
def test_admins_read_the_rhythm_in_english(schedule: Schedule, n: int | None, words: str) -> None:
    newsletter = Subscribable(n=n, time_zone="America/New_York", **asdict(schedule))
    with translation.override("de"):
        assert rhythm_for_admins(newsletter) == words


def test_days_are_bare_numbers_in_other_languages() -> None:
    with translation.override("fr"):
        assert "22nd" not in in_words(Schedule("monthly", day_of_month=22), None, ZoneInfo("UTC"))


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "de",
            [
                "Jeden Montag und Donnerstag um 18:00 Uhr, Ortszeit Paris",
                "Montags bis freitags um 07:00 Uhr, Ortszeit Paris",
                "Am 1., 15. und letzten Tag jedes Monats um 07:00 Uhr, Ortszeit Paris",
                "Jeden Tag um 07:30 und 18:30 Uhr, Ortszeit Paris",
            ],
        ),
        (
            "es",
            [
                "Todos los lunes y jueves (18:00, hora de París)",
                "De lunes a viernes (07:00, hora de París)",
                "Cada mes, el 1, el 15 y el último día (07:00, hora de París)",
                "Todos los días (07:30 y 18:30, hora de París)",
            ],
        ),
        (
            "fr",
            [
                "Chaque lundi et jeudi à 18:00, heure locale (Paris)",
                "Du lundi au vendredi à 07:00, heure locale (Paris)",
                "Chaque mois, le 1er, le 15 et le dernier jour, à 07:00, heure locale (Paris)",
                "Chaque jour à 07:30 et 18:30, heure locale (Paris)",
            ],
        ),
        (
            "pt",
            [
                "Todas as semanas, à segunda-feira e à quinta-feira (18:00, hora de Paris)",
                "De segunda a sexta-feira (07:00, hora de Paris)",
                "Todos os meses, no dia 1, no dia 15 e no último dia (07:00, hora de Paris)",
                "Todos os dias (07:30 e 18:30, hora de Paris)",
            ],
        ),
        (
            "pt-br",
            [
                "Toda semana, às segundas-feiras e às quintas-feiras (18:00, horário de Paris)",
                "De segunda a sexta-feira (07:00, horário de Paris)",
                "Todos os meses, no dia 1º, no dia 15 e no último dia (07:00, horário de Paris)",
                "Todos os dias (07:30 e 18:30, horário de Paris)",
            ],
        ),
    ],
)
def test_a_simple_cron_line_is_a_sentence_in_every_language(language: str, said: list[str]) -> None:
    with translation.override(language):
        assert [in_words(Schedule("cron", cron=line), None, PARIS) for line in SIMPLE] == said


def test_a_line_that_no_sentence_says_is_its_own_schedule() -> None:
    with translation.override("de"):
        assert in_words(Schedule("cron", cron="0 7 * * 5L"), None, PARIS) == "Nach eigenem Zeitplan"


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Schedule("daily"), "Every day at 0:00, UTC"),
        (Schedule("weekly", weekday=6), "Every Sunday at 0:00, UTC"),
        (Schedule("monthly", day_of_month=1), "On the 1st of each month at 0:00, UTC"),
        (Schedule("monthly", day_of_month=22), "On the 22nd of each month at 0:00, UTC"),
        (Schedule("monthly", day_of_month=29), "On the 29th of each month (or its last day) at 0:00, UTC"),
        (Schedule("monthly", day_of_month=31), "On the last day of each month at 0:00, UTC"),
        (Schedule("every_n"), "Every 3 posts"),
        (Schedule("each"), "Each post as it appears"),
    ],
)
def test_each_arrangement_has_words(schedule: Schedule, words: str) -> None:
    with translation.override("en"):
        assert in_words(schedule, 3, ZoneInfo("UTC")) == words


def test_every_post_is_each_post() -> None:
    with translation.override("en"):
        assert in_words(Schedule("every_n"), 1, ZoneInfo("UTC")) == "Each post as it appears"
