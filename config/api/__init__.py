"""What every answer of the API looks like: envelope, errors, ids, pages, limits. Imports no app (ARCHITECTURE)."""
