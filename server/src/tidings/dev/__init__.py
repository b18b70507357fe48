"""`tidings dev`: everything on one machine, under one supervisor, for the first minute and the days after it."""
