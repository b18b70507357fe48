"""Generate what is published about the protocol in `protocol/`, and find changes that break clients."""
