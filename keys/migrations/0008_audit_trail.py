"""Entries of the audit trail get old and new values and an address, and outlive their organization."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, OuterRef, Subquery


def name_organizations(apps: Any, schema_editor: Any) -> None:
    """Write the organization into the entries that exist, which outlive it from here on."""
    organization = apps.get_model("keys", "Organization").objects.filter(pk=OuterRef("organization_id"))
    apps.get_model("keys", "AuditEvent").objects.filter(organization__isnull=False, organization_ref=None).update(
        organization_ref=F("organization_id"),
        organization_name=Subquery(organization.values("name")),
        organization_slug=Subquery(organization.values("slug")),
    )


class Migration(migrations.Migration):

    dependencies = [
        ('keys', '0007_operators_act'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditevent',
            name='address',
            field=models.CharField(blank=True, db_default='', default='', help_text="The client's IP address.", max_length=45),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='changes',
            field=models.JSONField(blank=True, help_text='{name: [old, new]}', null=True),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='organization_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='organization_ref',
            field=models.UUIDField(blank=True, help_text='Kept when the organization is deleted.', null=True),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='organization_slug',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
        migrations.AlterField(
            model_name='auditevent',
            name='organization',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='audit_events', to='keys.organization'),
        ),
        migrations.AlterField(
            model_name='auditevent',
            name='user',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(name_organizations, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['user', '-created_at'], name='audit_by_user'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['created_at'], name='audit_by_age'),
        ),
    ]
