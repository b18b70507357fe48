"""`just bench all`: every figure that the report has, in parts that can be run alone, and the report itself."""
