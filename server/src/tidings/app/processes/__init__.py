"""The processes of an installation: api, gateway, delivery, relay, notifications and webhooks."""
