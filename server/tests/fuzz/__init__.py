"""Tests with large numbers of invalid frames."""
