"""What channels outside the inbox share: e-mail and push notifications."""
