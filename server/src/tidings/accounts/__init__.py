"""Users, sessions and credentials: authenticate requests and manage accounts."""
