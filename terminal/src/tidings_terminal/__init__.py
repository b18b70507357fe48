"""`tidings chat`: a client for the terminal. On the SDK; knows nothing of the server."""
