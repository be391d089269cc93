"""From a user's columns to codes."""
