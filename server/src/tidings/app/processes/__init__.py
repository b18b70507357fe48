"""The processes of an installation: api, gateway, delivery, relay, notifications, webhooks and search."""
