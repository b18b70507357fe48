"""Measure how much load an installation carries: a ramp of open-loop steps until its latency breaks a limit."""
