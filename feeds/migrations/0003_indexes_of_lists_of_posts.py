from django.db import migrations, models

from common.postgresql.operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("feeds", "0002_push")]

    operations = [
        AddIndexBeside(
            model_name="feed",
            index=models.Index(condition=models.Q(("dropping", True)), fields=["id"], name="feed_dropping"),
        ),
        AddIndexBeside(
            model_name="item", index=models.Index(fields=["-first_seen", "-id"], name="item_seen")
        ),
        AddIndexBeside(
            model_name="item", index=models.Index(fields=["feed", "-first_seen", "-id"], name="item_of_feed")
        ),
        AddIndexBeside(
            model_name="item",
            index=models.Index(fields=["state", "-first_seen", "-id"], name="item_in_state"),
        ),
    ]
