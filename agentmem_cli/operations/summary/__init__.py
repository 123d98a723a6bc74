"""The embedded summarizer: notes about a conversation by rules, without a model."""
