"""The audit log: administrative actions from the console, REST and the command line."""
