"""Messages to gateways, over Redis pub/sub."""
