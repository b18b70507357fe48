"""Export all data that a user can read, as an archive of web pages, JSON files and attachments."""
