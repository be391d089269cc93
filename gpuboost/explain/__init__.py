"""What a model says about its features."""
