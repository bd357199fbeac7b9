"""Files that people upload to the dashboard: pictures, in memory. Forms and the API read theirs by themselves."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler


class SmallFiles(MemoryFileUploadHandler):
    """Refuses larger bodies before they are read: Django has no limit for files, and its own handler a whole disk."""

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *rest: Any, **named: Any) -> Any:
        """Raise RequestDataTooBig for a larger body."""
        if content_length > settings.FILE_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        return super().handle_raw_input(input_data, META, content_length, *rest, **named)
