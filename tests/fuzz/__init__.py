"""The served OpenAPI schema, fuzzed: a suite of its own, as it takes minutes."""
