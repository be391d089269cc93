"""Checks of an installation and, with ``--full``, of everything that a GPU does."""
