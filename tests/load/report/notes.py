"""Explanations of rows whose mark or aim is missed, by row. `docs/benchmarks.md` has them below its table."""

NOTES: dict[str, str] = {}
