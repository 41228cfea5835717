from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name='Tally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(max_length=20)),
                ('key', models.CharField(max_length=32)),
                ('began_at', models.DateTimeField(db_index=True)),
                ('shard', models.PositiveSmallIntegerField(default=0)),
                ('count', models.PositiveIntegerField(default=0)),
            ],
            options={
                'db_table': 'common_tally',
                'constraints': [models.UniqueConstraint(fields=('key', 'began_at', 'shard'), name='tally_once')],
            },
        ),
    ]
