"""Attachments: uploads, their objects in the bucket, and the worker that processes them."""
