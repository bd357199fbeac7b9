"""The variables that settings come from: the process environment, `DATA_DIR/env`, and files of secrets."""

import os
from collections.abc import Mapping
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from config.environment.env_file import read_env_file

# Settings with a secret in them. Each can be in a file that NAME_FILE names, as Docker and Kubernetes mount secrets.
SECRETS = (
    *("SECRET_KEY", "SECRET_KEY_FALLBACKS", "ENCRYPTION_KEYS"),
    *("DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_REPLICA_URL"),
    *("REDIS_URL", "EMAIL_URL", "FILES_URL", "SENTRY_DSN", "WEBHOOK_PROXY_URL", "OIDC_CLIENT_SECRET"),
)


def read_environment(file: Path) -> environ.Env:
    """Return the reader of settings. `file`, if there is one, gives variables that the process environment does not."""
    if file.exists():
        for name, value in read_env_file(file).items():
            os.environ.setdefault(name, value)
    env = environ.Env()
    # Without these two, a secret that starts with `$` would be the name of another variable.
    env.escape_proxy = True
    env.ENVIRON = {name: value.replace("$", r"\$") for name, value in with_secrets(os.environ).items()}
    return env


def with_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return the environment with the content of each `NAME_FILE` as `NAME`. An empty `NAME` counts as not set.

    Secrets stay out of `os.environ`, which child processes inherit. Raises ImproperlyConfigured.
    """
    return {
        **environment,
        **{name: _read_secret(name, environment) for name in SECRETS if environment.get(f"{name}_FILE")},
    }


def _read_secret(name: str, environment: Mapping[str, str]) -> str:
    variable = f"{name}_FILE"
    if environment.get(name):
        raise ImproperlyConfigured(f"{name} and {variable} are both set. Remove one of them.")
    try:
        return Path(environment[variable]).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ImproperlyConfigured(f"{variable}: {error.filename} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ImproperlyConfigured(f"{variable}: {environment[variable]} is not UTF-8 text.") from None


def is_cut(url: str) -> bool:
    """Return whether a URL ends in the middle of its options, as after a shell that has read `&`."""
    return url.endswith(("?", "&", "="))
