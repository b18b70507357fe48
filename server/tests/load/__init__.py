"""Tests with many concurrent clients."""
