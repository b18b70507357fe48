"""Engine clients, telemetry and life cycle. Knows no subject."""
