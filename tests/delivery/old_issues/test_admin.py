"""Pages on which old issues are imported."""

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.passes import PASS_BUDGET
from delivery.models import IssueImport
from delivery.old_issues.worker import work_off_issue_imports
from tests.delivery.old_issues.exports import export
from tests.factories import BridgeFactory, SubscribableFactory

pytestmark = pytest.mark.django_db
ADD, LIST = reverse("admin:delivery_issueimport_add"), reverse("admin:delivery_issueimport_changelist")


def page(client: Client, row: IssueImport) -> str:
    return client.get(reverse("admin:delivery_issueimport_change", args=[row.pk])).content.decode()


def act(client: Client, row: IssueImport, action: str, **data: str) -> str:
    given = {"action": action, "_selected_action": [str(row.pk)], **data}
    return client.post(LIST, given, follow=True).content.decode()


def test_an_export_is_uploaded_previewed_imported_and_undone(admin_client: Client) -> None:
    newsletter, bridge = SubscribableFactory(), BridgeFactory()
    form = admin_client.get(f"{ADD}?newsletter={newsletter.pk}").content.decode()
    assert "Preview the import" in form
    assert f'value="{bridge.pk}"' not in form
    file = SimpleUploadedFile("pier.zip", export("substack"))
    given = {"newsletter": newsletter.pk, "file": file, "pictures": "link", "address": ""}
    admin_client.post(ADD, given, follow=True)
    row = IssueImport.objects.get()
    assert (row.file_name, row.by, row.state) == ("pier.zip", "admin", "looking")
    work_off_issue_imports(budget=PASS_BUDGET)
    shown = page(admin_client, row)
    for words in ("To be imported: 2", "Can’t be imported: 4", "It was for paying subscribers.", "Substack"):
        assert words in shown
    act(admin_client, row, "run")
    work_off_issue_imports(budget=PASS_BUDGET)
    shown = page(admin_client, row)
    assert "Imported: 2" in shown
    assert "Nothing is sent." in shown
    issue = row.issues.all()[0]
    about = admin_client.get(reverse("admin:delivery_issue_change", args=[issue.pk])).content.decode()
    assert "Another program sent this issue." in about
    assert "pier.zip" in about
    assert "Cancel the rest" not in about
    assert "deleted" not in about
    theirs = admin_client.get(reverse("admin:delivery_issue_changelist"), {"issue_import__id__exact": row.pk})
    assert issue.title in theirs.content.decode()
    listed = admin_client.get(reverse("admin:delivery_issue_changelist")).content.decode()
    assert "Import old issues" in listed
    assert "imported" in listed
    report = admin_client.get(reverse("admin:delivery_issueimport_report", args=[row.pk]))
    assert b"Secret coves" in b"".join(report.streaming_content)  # type: ignore[attr-defined]
    assert "will be deleted from the archive" in act(admin_client, row, "undo")
    act(admin_client, row, "undo", confirmed="yes", _confirmed="yes")
    work_off_issue_imports(budget=PASS_BUDGET)
    row.refresh_from_db()
    assert row.state == "undone"
    assert not newsletter.issues.exists()


def test_a_newsletters_issues_offer_it(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    url = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk])
    shown = admin_client.get(f"{url}?tab=issues")
    assert f"{ADD}?newsletter={newsletter.pk}" in shown.content.decode()


def test_who_may_only_look_imports_nothing(client: Client) -> None:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=("view_issueimport", "view_issue")))
    client.force_login(user)
    row = IssueImport.objects.create(subscribable=SubscribableFactory(), file_name="x", state="looked")
    assert client.get(ADD).status_code == 403
    act(client, row, "run")
    row.refresh_from_db()
    assert row.state == "looked"
    assert page(client, row)
    assert client.get(LIST).status_code == 200


def test_a_file_that_is_too_large_is_refused(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.admin.uploads.MOST_UPLOADED_BYTES", 3)
    file = SimpleUploadedFile("pier.zip", b"12345")
    given = {"newsletter": SubscribableFactory().pk, "file": file, "pictures": "keep", "address": ""}
    assert "Use the command import_issues." in admin_client.post(ADD, given).content.decode()
    assert not IssueImport.objects.filter(created_at__lte=utcnow()).exists()
