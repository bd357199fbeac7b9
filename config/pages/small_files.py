"""Files that people upload to the dashboard: pictures, in memory. Forms and the API read theirs by themselves."""

import re
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler

LARGE_FILES = re.compile(r"/dashboard/o/[^/]{1,100}/forms/[^/]{1,40}/import", re.ASCII)
MAX_LARGE_BYTES = 51 * 1024 * 1024  # of a body with a file to import, which is on disk


class SmallFiles(MemoryFileUploadHandler):
    """
    Refuses larger bodies before they are read: Django has no limit for files, and its own handler a whole disk.

    A file to import is left to the next handler, which writes it to the disk.
    """

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *rest: Any, **named: Any) -> Any:
        """Raise RequestDataTooBig for a larger body."""
        is_large = LARGE_FILES.fullmatch(META.get("PATH_INFO", ""))
        if content_length > (MAX_LARGE_BYTES if is_large else settings.FILE_UPLOAD_MAX_MEMORY_SIZE):
            raise RequestDataTooBig
        return super().handle_raw_input(input_data, META, content_length, *rest, **named)
