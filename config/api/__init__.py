"""HTTP of the API, for every app: envelope, errors, parsing, ids in requests, pages, limits. Imports no app."""
