"""Writes `DATA_DIR/env` for a laptop on the first `make run`. Later runs do not change it."""

import os
import secrets
import sys
from pathlib import Path
from urllib.parse import quote

CONTENT = """\
# Written by the first `make run`. Every `manage.py` command reads it; the process environment takes precedence.
SECRET_KEY={secret_key}
ENCRYPTION_KEYS={encryption_key}
DATABASE_URL=sqlite:///{sqlite_file}
DEMO=1
SIGN_UP=open
WEBHOOK_ALLOW_HTTP=1
WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8,::1/128
"""


def write_environment(data_dir: Path) -> bool:
    """Write `data_dir/env` unless it exists; return whether it was written. Only its owner can read it."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)  # it will hold submissions
    path = data_dir / "env"
    if path.exists():
        return False
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    content = CONTENT.format(
        secret_key=secrets.token_urlsafe(50),
        encryption_key=secrets.token_urlsafe(50),
        sqlite_file=quote(str(data_dir / "fieldpost.sqlite3")),
    )
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
    return True


if __name__ == "__main__":
    base = Path(__file__).resolve().parent.parent
    data = Path(os.environ.get("DATA_DIR") or base / "data").resolve()
    if write_environment(data):
        sys.stdout.write(f"Wrote {data / 'env'}\nMaking the database: this takes half a minute.\n")
