"""The served OpenAPI schema, fuzzed: a separate suite, as it takes minutes."""
