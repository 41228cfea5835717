from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("feeds", "0006_words_about_itself")]

    operations = [
        migrations.AlterModelOptions(
            name="item", options={"ordering": ("-first_seen", "-pk"), "verbose_name": "post"}
        )
    ]
