"""The OpenAPI document: its names and texts, its headers, the finishing of what drf-spectacular makes, the view."""
