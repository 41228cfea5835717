from dataclasses import dataclass

from django.urls import reverse

from common.admin.html import add_url, object_url
from common.optional_apps import is_on
from delivery.accounts.accounts import keeps_letters, sends_nothing
from delivery.models import LetterTemplate, Theme
from feedletter_site.models import FirstStep
from feedletter_site.services.backups import BACK_UP
from feeds.models import Feed
from reader.models import Reader
from subscriptions.admin_words import FIRST_ISSUE
from subscriptions.models import Consent, Subscribable, Subscription
from subscriptions.rules.origin import How

# Dismisses the whole list.
ALL = "all"
MAIL = "mail"
STEP_NAMES = ("feed", "newsletter", "look", "reader", MAIL, "form", "reading", BACK_UP)


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    title: str
    words: str
    label: str
    url: str
    is_done: bool
    aside: str = ""


def open_steps(*, email: str) -> list[Step]:
    noted = dict(FirstStep.objects.values_list("name", "is_done"))
    if ALL in noted:
        return []
    steps = [step for step in _steps(email, noted) if step.name not in noted or step.is_done]
    return steps if any(not step.is_done for step in steps) else []


def put_aside(name: str) -> bool:
    """Return False for an unknown name."""
    if name not in (*STEP_NAMES, ALL):
        return False
    FirstStep.objects.get_or_create(name=name)
    return True


def take_back() -> None:
    FirstStep.objects.filter(is_done=False).delete()


def _steps(email: str, noted: dict[str, bool]) -> list[Step]:
    """With several newsletters, link to the first."""
    feed = Feed.objects.order_by("pk").values_list("pk", flat=True).first()
    newsletter = Subscribable.objects.filter(channel="email").order_by("pk").first()
    page = object_url(newsletter) if newsletter else add_url(Subscribable)
    known = {"feeds": feed} if feed else {}
    reader = {"subscribable": newsletter.pk, "email_email": email} if newsletter else {}
    is_mailed = not (keeps_letters() or sends_nothing())
    has_form = Subscribable.objects.exclude(embed_hosts="").exists() or (
        Consent.objects.filter(how__in=(How.EMBED, How.WIDGET)).exists()
    )
    reading = [
        Step(
            "reading", "Read feeds here", "Follow any feed here, and invite others.",
            "Start reading", reverse("reader:begin"), Reader.objects.exists(), "Not needed",
        ),
    ] if is_on("reader") else []  # fmt: skip
    return [
        Step(
            "feed", "Add a feed", "Paste a blog’s address, and we find its feed.", "Add a feed",
            add_url(Feed), feed is not None,
        ),
        Step(
            "newsletter", "Create a newsletter", "Send each post, or one issue a day, week or month.",
            "Create a newsletter", add_url(Subscribable, **known), newsletter is not None,
        ),
        Step(
            "look", "Give it a look", "Choose a colour, a logo and a footer.",
            "Choose a look", f"{page}?tab=look" if newsletter else page,
            Theme.objects.exists() or LetterTemplate.objects.exists(),
            "Keep the standard look",
        ),
        Step(
            "reader", "Be the first subscriber", FIRST_ISSUE,
            "Subscribe yourself", add_url(Subscription, **reader),
            Subscription.objects.confirmed().exists(),
        ),
        Step(
            MAIL, "Send real email", "Until you set up email, emails are kept in a mailbox here.",
            "Set up email", reverse("mail_set_up"), is_mailed, "Keep the mailbox",
        ),
        Step(
            "form", "Put the form on your site", "Copy a few lines of HTML.", "Copy the form",
            f"{page}?tab=share" if newsletter else page, has_form, "Not needed",
        ),
        *reading,
        Step(
            BACK_UP, "Back up", "Set BACKUP_DIR for a copy each night, or use one command.",
            "Show the command", f"{reverse('first_steps')}#back-up", noted.get(BACK_UP, False),
            "Done elsewhere",
        ),
    ]  # fmt: skip
