"""The client of S3."""
