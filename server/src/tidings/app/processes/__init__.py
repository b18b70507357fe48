"""The processes of an installation: api, gateway, delivery, relay and notifications."""
