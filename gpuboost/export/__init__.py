"""Models in other forms."""
