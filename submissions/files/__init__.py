"""Files of submissions."""
