"""Move the content of old messages to Parquet files in the bucket, and read it back."""
