output "settings" {
  description = "Settings of Tidings, as environment variables. Set TIDINGS_SEARCH_PASSWORD from your secret."
  value = {
    TIDINGS_SEARCH_ENGINE   = "opensearch"
    TIDINGS_SEARCH_URL      = "https://${aws_opensearch_domain.this.endpoint}"
    TIDINGS_SEARCH_USERNAME = var.username
  }
}
