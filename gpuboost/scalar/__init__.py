"""Functions of numbers that every device compiles for itself."""
