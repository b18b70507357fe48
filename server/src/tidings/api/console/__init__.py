"""The API of the console, under `/admin/v1`."""
