"""Install, start and load the other servers of the comparison. Each of them is optional."""
