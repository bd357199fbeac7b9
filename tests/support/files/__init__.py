"""Files of forms: as rows with their bytes."""
