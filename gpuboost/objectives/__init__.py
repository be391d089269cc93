"""What is minimised, and what is watched."""
