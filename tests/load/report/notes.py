"""Explanations of rows whose mark or aim is missed, by row. `docs/benchmarks.md` has them below its table."""

NOTES: dict[str, str] = {
    "submit": (
        "The web process takes 0.63 ms of processor time for a submission, PostgreSQL less than half of that. In the "
        "profile of ADR 0099 look-up and INSERT take most of it, then the count in Redis."
    ),
    "cpu": (
        "What the bare view does not do: count in Redis, check origin, spam rules and fields, tell a worker. Inserting "
        "requests that wait at the same moment by one statement gained nothing (ADR 0099)."
    ),
    "sqlite": (
        "Sampled with py-spy before ADR 0107: 62 % of the time of threads and event loop were sleeps of SQLite's busy "
        "handler, 14 % waits for the interpreter, 5 % syncs of the file; counting was below 1 %. Since then threads "
        "queue and share a commit: 2.6 times the submissions in four rounds in turn, with 0.6 of the processor time. "
        "The rest is one core of Python: 0.57 ms in the thread of a submission (INSERT 0.08, look-up 0.10, body 0.07, "
        "answer 0.04), then the event loop. The rival does the INSERT only."
    ),
    "search-percent": (
        "The API says an exact total, so each match is read and compared: 10,000 among a million rows, 10 among a "
        "thousand. A search with few matches is the row above."
    ),
    "backlog-own": "The total is exact, so each waiting submission of the form is counted, by an index of these only.",
    "export-csv": (
        "The process of the export is busy all the time: reading rows and their JSON twice (once for the names in the "
        "header), then ids, times and quoting. `columns=` saves the first reading."
    ),
    "export-ndjson": "As for CSV, without reading the values: ids, times and rows take most of it (ADR 0100).",
    "export-memory": (
        "The memory that the export's fork does not share, batches of rows on their way, and what malloc "
        "keeps of earlier exports (ADR 0108)."
    ),
    "bytes": (
        "Relation by relation in one such round (2,784 bytes, on a busy machine): the rows 1,354, of which 348 are the "
        "values, 303 their text for searching, 189 what the browser said, and a seventh the first versions that "
        "dispatching replaced after the last VACUUM; the search index 733, of which 419 are the 4 MiB of its list of "
        "new entries, which are the same for any number of rows; two lists 316, two lists of unread rows 200, the "
        "primary key 64, two reading orders 85. Among 60,000 rows it is 2,341 bytes, copied in 1,879 (ADR 0101). The "
        "next step is to store values once, which changes how rows are read."
    ),
    "busy": (
        "Both cores are busy: of three seconds, the threads of a web process ran for one and waited for a core for one "
        "to two (/proc/PID/schedstat). Deliveries by themselves make the p99 2.8 times the quiet one (`latency`). The "
        "export has its own process and a session of lower priority; as a thread of a web process it made the p99 27 "
        "times the quiet one. Pauses between its parts gained 4 ms (ADR 0108). Runs differ: the one before, on the "
        "same day, had a median of 3.91 (3.38 to 4.58), which misses the mark. A third core is next."
    ),
    "deliver16": "One process delivers with one core of Python; the row below has two of them.",
    "deliver16-two": "Two processes and PostgreSQL share two cores with the receiver.",
}
