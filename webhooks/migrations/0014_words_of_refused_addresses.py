"""An attempt at a refused address says what to do. Only the words of a choice: no statement."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0013_refused_mails_are_tried_again")]

    operations = [
        migrations.AlterField(
            model_name="attempt",
            name="error",
            field=models.CharField(
                blank=True,
                choices=[
                    ("timeout", "No answer in time"),
                    ("dns_failure", "The host name could not be resolved"),
                    ("url_refused", "The URL is not allowed"),
                    (
                        "address_refused",
                        "The host leads to a private or special address, or to a port that is not allowed: use one "
                        "that is reachable from the internet",
                    ),
                    ("connection_refused", "The host refused the connection"),
                    ("connection_failed", "The connection failed or was closed without an answer"),
                    ("tls_failure", "No secure connection: the certificate or the protocol was not accepted"),
                    ("redirect", "The URL redirects, which is not followed"),
                    ("http_error", "The answer was not a 2xx status"),
                    ("invalid_response", "The answer was not valid HTTP"),
                    ("mail_refused", "The mail server refused this mail"),
                    ("mail_failed", "The mail server could not take the mail now"),
                    ("canceled", "Canceled before it was sent"),
                    ("internal_error", "A fault on our side"),
                ],
                max_length=30,
            ),
        ),
    ]
