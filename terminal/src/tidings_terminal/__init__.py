"""`tidings chat`: a terminal client that uses the SDK and does not depend on the server."""
