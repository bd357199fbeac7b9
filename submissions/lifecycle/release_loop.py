"""
The thread of each web process that releases held submissions as room comes (docs/adr/0037).

In the web role, because there the hours are counted: without Redis they are in the memory of its one process.
"""

import logging
import os
import threading
import time

from django.conf import settings

from config.database import drop_broken_connections, give_back_connection, is_away
from config.outage import OUTAGE
from submissions.lifecycle.held import release_due

logger = logging.getLogger(__name__)


def start_releasing() -> None:
    """Start the thread, now and in every process that is forked from this one."""
    _start_thread()
    os.register_at_fork(after_in_child=_start_thread)


def _start_thread() -> None:
    threading.Thread(target=_release_forever, daemon=True, name="release").start()


def _release_forever() -> None:
    while True:
        time.sleep(settings.HELD_POLL_SECONDS)
        release_once()


def release_once() -> None:
    """Release due submissions. A failure is left to the next poll."""
    try:
        release_due()
    except Exception as error:  # the thread must survive any error
        if is_away(error):
            OUTAGE.note(error)
            drop_broken_connections(error)
        else:
            logger.exception("held submissions could not be released")
    finally:
        give_back_connection()
