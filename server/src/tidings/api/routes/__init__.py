"""Routes of the REST API, by resource."""
