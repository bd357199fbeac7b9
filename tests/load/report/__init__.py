"""Rows of the benchmark's table: their marks, their figures, and how they are shown."""
