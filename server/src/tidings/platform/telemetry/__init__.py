"""What a process tells about itself: logs, metrics and spans. How it lives is `lifecycle`'s matter."""
