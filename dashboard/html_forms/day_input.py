"""The input of a day."""

from django import forms


class DayInput(forms.DateInput):
    """A browser's own input, which takes and sends a day as YYYY-MM-DD in every language."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")
