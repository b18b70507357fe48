# Valkey on ElastiCache: cluster mode, TLS, a password, a replica of each shard.

# Plans only: nothing is created, and no request is made to AWS.
provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

variables {
  vpc_id                    = "vpc-1"
  subnet_ids                = ["subnet-1", "subnet-2", "subnet-3"]
  client_security_group_ids = ["sg-pods"]
  password                  = "0123456789-abcdefghijk"
}

run "defaults" {
  command = plan

  assert {
    condition = (
      aws_elasticache_replication_group.this.transit_encryption_enabled &&
      tobool(aws_elasticache_replication_group.this.at_rest_encryption_enabled)
    )
    error_message = "Valkey must be encrypted."
  }

  assert {
    condition     = aws_elasticache_replication_group.this.multi_az_enabled && aws_elasticache_replication_group.this.replicas_per_node_group == 1
    error_message = "Each shard has a replica in another zone."
  }

  assert {
    condition     = contains([for each in aws_elasticache_parameter_group.this.parameter : "${each.name}=${each.value}"], "maxmemory-policy=noeviction")
    error_message = "An evicted route would lose pushes."
  }
}

run "without_replicas" {
  command = plan

  variables {
    replicas    = 0
    shards      = 1
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/22222222-2222-2222-2222-222222222222"
  }

  assert {
    condition     = aws_elasticache_replication_group.this.automatic_failover_enabled && !aws_elasticache_replication_group.this.multi_az_enabled
    error_message = "AWS requires automatic failover in cluster mode."
  }
}

run "password_that_elasticache_refuses" {
  command = plan

  variables {
    password = "0123456789_abcdefghijk"
  }

  expect_failures = [var.password]
}
