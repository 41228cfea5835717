import common.secrets
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        ('auth', '__first__'),
    ]
    operations = [
        migrations.CreateModel(
            name='Origin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(max_length=20)),
                ('kind', models.CharField(max_length=20)),
                ('old_key', models.CharField(max_length=100)),
                ('row', models.BigIntegerField()),
                ('taken_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'kind', 'old_key'), name='origin_once')],
                'indexes': [],
            },
        ),
        migrations.CreateModel(
            name='Arrival',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(max_length=20, verbose_name='from')),
                ('file_name', models.CharField(max_length=200, verbose_name='file')),
                ('size', models.PositiveBigIntegerField(default=0)),
                ('by', models.CharField(blank=True, default='', max_length=150, verbose_name='uploaded by')),
                ('state', models.CharField(choices=[('uploading', 'being uploaded'), ('looking', 'being checked'), ('asking', 'waiting for your answer'), ('looked', 'ready to import'), ('reading', 'its feeds are being read'), ('taking', 'being imported'), ('done', 'imported'), ('stopped', 'stopped'), ('unusable', 'not usable')], default='uploading', max_length=10)),
                ('trouble', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='uploaded')),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('options', models.JSONField(default=dict)),
                ('secrets', common.secrets.SecretsField(blank=True, default=dict, editable=False)),
                ('questions', models.JSONField(default=list)),
                ('notes', models.JSONField(default=list)),
                ('parts', models.PositiveIntegerField(default=0)),
                ('done', models.PositiveIntegerField(default=0)),
                ('is_read', models.BooleanField(default=False)),
                ('failures', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                'verbose_name': 'file of another program', 'verbose_name_plural': 'import from another program',
                'ordering': ('-pk',),
                'abstract': False,
                'indexes': [models.Index(condition=models.Q(('state__in', ('looking', 'reading', 'taking'))), fields=['id'], name='arrival_open')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='ArrivalPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('suffix', models.CharField(blank=True, default='', max_length=4)),
                ('start', models.PositiveBigIntegerField()),
                ('data', models.BinaryField()),
                ('upload', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='feedletter_site.arrival')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('upload', 'suffix', 'start'), name='arrivalpiece_once')],
                'indexes': [],
            },
        ),
        migrations.CreateModel(
            name='ArrivalLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('arrival', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='feedletter_site.arrival')),
                ('what', models.CharField(max_length=20)),
                ('kind', models.CharField(max_length=20)),
                ('name', models.TextField()),
                ('words', models.TextField(blank=True, default='')),
                ('count', models.PositiveIntegerField(default=1)),
            ],
            options={
                'indexes': [models.Index(fields=['arrival', 'what', 'id'], name='arrival_line')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What uses it, such as “shop” or “backup script”.', max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=12, unique=True)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('scopes', models.JSONField(default=list)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='made')),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='last used')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='revoked')),
            ],
            options={
                'verbose_name': 'API token',
                'ordering': ('-created_at', '-pk'),
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Figure',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('value', models.JSONField()),
                ('counted_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='FirstStep',
            fields=[
                ('name', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('is_done', models.BooleanField(db_default=False, default=False)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Stage',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ran_at', models.DateTimeField(null=True)),
                ('ticked_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Counted',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64)),
                ('label', models.CharField(db_default='', max_length=64)),
                ('count', models.BigIntegerField(db_default=0)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('name', 'label'), name='counted_once')],
                'indexes': [],
            },
        ),
    ]
