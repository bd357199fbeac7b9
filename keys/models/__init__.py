"""The models of `keys`, and the choices of their columns."""

from keys.choices import Permission as Permission
from keys.choices import Role as Role
from keys.models.devices import DeviceLogin as DeviceLogin
from keys.models.owners import AccessKey as AccessKey
from keys.models.owners import AccessKeyQuerySet as AccessKeyQuerySet
from keys.models.owners import AuditEvent as AuditEvent
from keys.models.owners import Logo as Logo
from keys.models.owners import Membership as Membership
from keys.models.owners import Organization as Organization
from keys.models.owners import User as User
from keys.models.owners import UserManager as UserManager
from keys.models.owners import UserQuerySet as UserQuerySet
from keys.models.records import HourMark as HourMark
from keys.models.records import Identity as Identity
from keys.models.records import Invitation as Invitation
from keys.models.records import Notice as Notice
from keys.models.records import RememberedAnswer as RememberedAnswer
