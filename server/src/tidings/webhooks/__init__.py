"""Webhooks: send the events of a tenant to its endpoints, and ask its before-send hook about messages."""
