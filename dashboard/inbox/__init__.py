"""Lists of submissions: their columns, values, and actions on everything that matches."""
