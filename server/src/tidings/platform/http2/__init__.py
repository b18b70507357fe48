"""A small HTTP/2 client (RFC 9113) for many short requests to few servers."""
