"""Receipts, typing and presence at a gateway: channel subscriptions and the frames for devices that watch them."""
