"""Submissions: the list, one submission, actions on several, and the columns of a list."""
