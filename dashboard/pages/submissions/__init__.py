"""Submissions: the list, its columns and values, one submission, actions on several and on everything that matches."""
