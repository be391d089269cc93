"""Pictures of a fitted model."""
