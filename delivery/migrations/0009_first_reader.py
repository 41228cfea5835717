from django.db import migrations, models

from common.postgresql.operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("delivery", "0008_uploaded_pictures"),
        ("subscriptions", "0006_first_reader"),
    ]

    operations = [
        migrations.AddField(
            model_name="issue",
            name="awaits_reader",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        AddIndexBeside(
            model_name="issue",
            index=models.Index(
                condition=models.Q(("awaits_reader", True), ("published_at", None)),
                fields=["subscribable"],
                name="issue_for_first_reader",
            ),
        ),
    ]
