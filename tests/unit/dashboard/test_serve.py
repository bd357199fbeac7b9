"""The setup of `serve` before granian takes over."""

import multiprocessing

from dashboard.management.commands.serve import make_server


def test_web_processes__of_serve__are_spawned_and_read_the_settings_anew() -> None:
    """Forked ones would keep the supervisor's, which have no connection pool, and would leak connections."""
    before = multiprocessing.get_start_method(allow_none=True)
    try:
        make_server("127.0.0.1")
        assert multiprocessing.get_start_method() == "spawn"
    finally:
        multiprocessing.set_start_method(before, force=True)
