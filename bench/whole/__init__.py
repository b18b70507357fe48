"""`just bench all`: the parts that measure the figures of the report, and the generator of the report."""
