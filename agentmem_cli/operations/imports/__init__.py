"""Foreign transcripts to sessions; `importing` holds the two calls."""
