# Valkey on Amazon ElastiCache in cluster mode: TLS, a user with a password, and a replica of each shard in another zone.

resource "aws_security_group" "this" {
  name        = "${var.name}-redis"
  description = "Valkey of Tidings: only its processes connect"
  vpc_id      = var.vpc_id
  tags        = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "processes" {
  # Not `for_each`: its keys must be known before the groups are created.
  count = length(var.client_security_group_ids)

  security_group_id            = aws_security_group.this.id
  referenced_security_group_id = var.client_security_group_ids[count.index]
  description                  = "Valkey over TLS"
  ip_protocol                  = "tcp"
  from_port                    = 6379
  to_port                      = 6379
  tags                         = var.tags
}

resource "aws_elasticache_subnet_group" "this" {
  name       = var.name
  subnet_ids = var.subnet_ids
  tags       = var.tags
}

resource "aws_elasticache_parameter_group" "this" {
  name   = var.name
  family = "valkey8"
  tags   = var.tags

  # As `tidings doctor` expects: an evicted route would lose pushes silently.
  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }

  parameter {
    name  = "cluster-enabled"
    value = "yes"
  }
}

resource "aws_elasticache_replication_group" "this" {
  replication_group_id       = var.name
  description                = "Routes, presence, checkpoints and rate limits of Tidings"
  engine                     = "valkey"
  engine_version             = "8.0"
  node_type                  = var.node_type
  parameter_group_name       = aws_elasticache_parameter_group.this.name
  subnet_group_name          = aws_elasticache_subnet_group.this.name
  security_group_ids         = [aws_security_group.this.id]
  port                       = 6379
  num_node_groups            = var.shards
  replicas_per_node_group    = var.replicas
  automatic_failover_enabled = true # required in cluster mode, even without replicas
  multi_az_enabled           = var.replicas > 0
  at_rest_encryption_enabled = true
  kms_key_id                 = var.kms_key_arn
  transit_encryption_enabled = true
  auth_token                 = var.password
  # Tidings repairs what Redis loses from DynamoDB, so there are no snapshots.
  snapshot_retention_limit = 0
  tags                     = var.tags
}
