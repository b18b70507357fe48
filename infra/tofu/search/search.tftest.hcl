# OpenSearch: TLS, encryption at rest, one user, a node in each zone.

# Plans only: nothing is created, and no request is made to AWS.
provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  max_retries                 = 1

  # The provider asks for compatible versions while it plans.
  endpoints {
    opensearch = "http://127.0.0.1:9"
  }
}

variables {
  vpc_id                    = "vpc-1"
  subnet_ids                = ["subnet-1", "subnet-2", "subnet-3"]
  client_security_group_ids = ["sg-pods"]
  password                  = "Example-password-1"
}

run "three_zones" {
  command = plan

  assert {
    condition = (
      aws_opensearch_domain.this.cluster_config[0].instance_count == 3 &&
      aws_opensearch_domain.this.cluster_config[0].zone_awareness_config[0].availability_zone_count == 3
    )
    error_message = "One node in each zone."
  }

  assert {
    condition = alltrue([
      aws_opensearch_domain.this.encrypt_at_rest[0].enabled,
      aws_opensearch_domain.this.node_to_node_encryption[0].enabled,
      aws_opensearch_domain.this.domain_endpoint_options[0].enforce_https,
      aws_opensearch_domain.this.advanced_security_options[0].enabled,
    ])
    error_message = "The domain must be encrypted and have users."
  }
}

run "two_zones" {
  command = plan

  variables {
    subnet_ids  = ["subnet-1", "subnet-2"]
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/22222222-2222-2222-2222-222222222222"
  }

  assert {
    condition     = aws_opensearch_domain.this.cluster_config[0].zone_awareness_config[0].availability_zone_count == 2
    error_message = "One node in each zone."
  }
}

run "one_zone" {
  command = plan

  variables {
    subnet_ids = ["subnet-1"]
  }

  expect_failures = [var.subnet_ids]
}
