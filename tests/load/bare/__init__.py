"""A bare Django view behind our web server: the reference of the processor time of a submission."""
