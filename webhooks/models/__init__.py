"""The models of `webhooks`, and the constants of their columns."""

from webhooks.models.deliveries import ATTEMPTS_KEPT as ATTEMPTS_KEPT
from webhooks.models.deliveries import MESSAGE_PREFIX as MESSAGE_PREFIX
from webhooks.models.deliveries import UNTIL_RESUMED as UNTIL_RESUMED
from webhooks.models.deliveries import Attempt as Attempt
from webhooks.models.deliveries import DelivererSlots as DelivererSlots
from webhooks.models.deliveries import Delivery as Delivery
from webhooks.models.deliveries import DeliveryQuerySet as DeliveryQuerySet
from webhooks.models.deliveries import ErrorClass as ErrorClass
from webhooks.models.deliveries import Message as Message
from webhooks.models.receivers import ALL_FORMS as ALL_FORMS
from webhooks.models.receivers import DESTINATION as DESTINATION
from webhooks.models.receivers import DESTINATION_STATUSES as DESTINATION_STATUSES
from webhooks.models.receivers import IN_FLIGHT as IN_FLIGHT
from webhooks.models.receivers import MAX_URL as MAX_URL
from webhooks.models.receivers import WEBHOOK as WEBHOOK
from webhooks.models.receivers import WEBHOOK_STATUSES as WEBHOOK_STATUSES
from webhooks.models.receivers import Receiver as Receiver
from webhooks.models.receivers import ReceiverQuerySet as ReceiverQuerySet
