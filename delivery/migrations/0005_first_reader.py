from django.db import migrations, models

from common.postgresql.operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("delivery", "0004_indexes_of_what_is_looked_for"),
        ("subscriptions", "0004_first_reader"),
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
