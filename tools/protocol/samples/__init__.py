"""The golden frames: examples of the documents, and test data for every client."""
