# The MSK cluster: three brokers, TLS, users with passwords.

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
  secret_arn                = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:AmazonMSK_tidings-AbCdEf"
}

run "defaults" {
  command = plan

  assert {
    condition     = aws_msk_cluster.this.number_of_broker_nodes == 3
    error_message = "One broker in each zone."
  }

  assert {
    condition = (
      aws_msk_cluster.this.encryption_info[0].encryption_in_transit[0].client_broker == "TLS" &&
      aws_msk_cluster.this.client_authentication[0].sasl[0].scram
    )
    error_message = "Clients connect with TLS and a password."
  }

  assert {
    condition     = strcontains(aws_msk_configuration.this.server_properties, "min.insync.replicas=2")
    error_message = "An acknowledged record must be on two brokers."
  }

  assert {
    condition     = [for rule in aws_vpc_security_group_ingress_rule.processes : rule.from_port] == [9096]
    error_message = "Only processes connect, and only with a password."
  }
}

run "given_key" {
  command = plan

  variables {
    kms_key_arn   = "arn:aws:kms:eu-central-1:123456789012:key/22222222-2222-2222-2222-222222222222"
    kafka_version = "4.1.x.kraft"
  }

  assert {
    condition     = aws_msk_cluster.this.encryption_info[0].encryption_at_rest_kms_key_arn == var.kms_key_arn
    error_message = "The given key must be used."
  }
}

run "two_zones" {
  command = plan

  variables {
    subnet_ids = ["subnet-1", "subnet-2"]
  }

  expect_failures = [var.subnet_ids]
}
