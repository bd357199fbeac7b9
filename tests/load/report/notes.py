"""What takes the time, for rows whose mark or aim is missed. `docs/benchmarks.md` has them below its table."""

NOTES: dict[str, str] = {}
