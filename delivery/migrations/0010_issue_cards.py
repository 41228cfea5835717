import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0009_first_reader")]

    operations = [
        migrations.CreateModel(
            name="IssueCard",
            fields=[
                (
                    "issue",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="card",
                        serialize=False,
                        to="delivery.issue",
                    ),
                ),
                ("titles", models.JSONField(default=list)),
                ("words", models.TextField(default="")),
            ],
        ),
    ]
