from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0004_indexes_of_what_is_looked_for")]

    operations = [
        migrations.AddField(
            model_name="account",
            name="sender",
            field=models.CharField(blank=True, db_default="", default="", max_length=320),
        ),
        migrations.AddField(
            model_name="account",
            name="is_default",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name="account",
            name="tried_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="account",
            name="trouble",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddConstraint(
            model_name="account",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)),
                fields=("is_default",),
                name="account_one_default",
            ),
        ),
    ]
