output "address" {
  description = "Host of the cluster. Set TIDINGS_REDIS_URL to rediss://:PASSWORD@HOST:6379."
  value       = aws_elasticache_replication_group.this.configuration_endpoint_address
}
