"""Erase a user: a job of steps that can be repeated."""
