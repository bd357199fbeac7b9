"""Explanations of rows whose mark or aim is missed, by row. `docs/benchmarks.md` has them below its table."""

NOTES: dict[str, str] = {
    "submit": (
        "Sampled with py-spy in a web process, of the time in which a thread has the interpreter: gunicorn 34 % (20 % "
        "in its main thread, which watches the connections), the view 51 % (count in Redis 12 %, INSERT 11 %, look-up "
        "10 %, body 8 %), the handler and the middleware around the view 8 %, hints to the workers 6 %."
    ),
    "cpu": (
        "What the bare view does not do: count in Redis, check origin, spam rules and fields, tell a worker. Inserting "
        "requests that wait at the same moment by one statement gained nothing (ADR 0099)."
    ),
    "sqlite": (
        "Sampled with py-spy as for `submit`: gunicorn 34 %, the view 59 % (look-up 18 %, INSERT 11 %, answer 11 %, "
        "count 6 %, body 4 %), the handler and the middleware around the view 4 %. Threads that wait at the same "
        "moment share a commit (ADR 0107). The rival does the INSERT only."
    ),
    "search-percent": (
        "The API says an exact total, so each match is read and compared: 10,000 among a million rows, 10 among a "
        "thousand. A search with few matches is the row above."
    ),
    "backlog-own": "The total is exact, so each waiting submission of the form is counted, by an index of these only.",
    "export-csv": (
        "The process of the export is busy all the time: reading rows and their JSON twice (once for the names in the "
        "header), then ids, times and quoting. `columns=` saves the first reading. On a machine with a quicker Python "
        "it was 0.36 and 0.38 of psql."
    ),
    "export-ndjson": (
        "As for CSV, without reading the values: ids, times and rows take most of it (ADR 0100). On a machine with a "
        "quicker Python it was 0.50 of psql."
    ),
    "export-memory": (
        "The memory that the export's fork does not share, batches of rows on their way, and what malloc "
        "keeps of earlier exports (ADR 0108)."
    ),
    "serve-start": (
        "Imports, once for all children. On this machine Django and the apps take 1.0 s, `config.wsgi` 0.4 to 0.6 s."
    ),
    "serve-memory": (
        "Five processes of 31 to 41 MB: `serve`, gunicorn, its web process, the live stream and the deliverer. They "
        "share what `serve` has imported."
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
        "times the quiet one. Pauses between its parts gained 4 ms (ADR 0108). A third core is next."
    ),
    "deliver16": "One process delivers with one core of Python; the row below has two of them.",
    "deliver16-two": "Two processes and PostgreSQL share two cores with the receiver.",
}
