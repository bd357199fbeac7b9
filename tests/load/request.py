"""The one submission of every request: three fields of a contact form."""

import json

USER_AGENT = "fieldpost-bench"
BODY = json.dumps(
    {
        "name": "Ada Lovelace",
        "email": "ada@example.com",
        "message": "I would like to know whether the Analytical Engine can be hired by the week, and at what rate.",
    }
).encode()
