"""What `run api` puts around the REST edge: the HTTP server, and the edge's ports joined to platform and limits."""
