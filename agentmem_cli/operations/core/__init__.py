"""Core memory on a session: blocks as saved values of a log, read, changed, traced and moved."""
