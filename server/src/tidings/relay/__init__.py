"""The relay: audits every commit by DynamoDB's stream, and publishes again what was not handled."""
