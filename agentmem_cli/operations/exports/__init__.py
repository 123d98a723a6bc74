"""Sessions in the shapes of others."""
