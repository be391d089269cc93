"""What a fit leaves behind: trees, the ensemble, and its file."""
