# The bucket: private, encrypted, without versions, and no rule deletes objects.

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
  bucket = "example-tidings-media"
}

run "own_key" {
  command = plan

  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.media.block_public_acls,
      aws_s3_bucket_public_access_block.media.block_public_policy,
      aws_s3_bucket_public_access_block.media.ignore_public_acls,
      aws_s3_bucket_public_access_block.media.restrict_public_buckets,
    ])
    error_message = "The bucket is not private."
  }

  assert {
    condition = alltrue([
      for rule in aws_s3_bucket_server_side_encryption_configuration.media.rule :
      rule.apply_server_side_encryption_by_default[0].sse_algorithm == "aws:kms"
    ])
    error_message = "The bucket is not encrypted with KMS."
  }

  assert {
    condition     = length(aws_kms_key.media) == 1 && aws_kms_key.media[0].enable_key_rotation
    error_message = "The module creates a key unless one is given."
  }

  assert {
    condition = alltrue([
      for rule in aws_s3_bucket_lifecycle_configuration.media.rule :
      length(rule.expiration) == 0 && length(rule.noncurrent_version_expiration) == 0
    ])
    error_message = "A lifecycle rule deletes objects."
  }

  assert {
    condition     = length(aws_s3_bucket_cors_configuration.media) == 0
    error_message = "Without origins, no web page may use the bucket."
  }
}

run "given_key" {
  command = plan

  variables {
    kms_key_arn     = "arn:aws:kms:eu-central-1:123456789012:key/22222222-2222-2222-2222-222222222222"
    allowed_origins = ["https://app.example.com"]
  }

  assert {
    condition     = length(aws_kms_key.media) == 0 && output.kms_key_arn == var.kms_key_arn
    error_message = "The given key must be used."
  }

  assert {
    condition     = one([for rule in aws_s3_bucket_cors_configuration.media[0].cors_rule : rule.allowed_origins]) == toset(["https://app.example.com"])
    error_message = "Only the given origins may use the bucket."
  }
}

run "every_origin" {
  command = plan

  variables {
    allowed_origins = ["*"]
  }

  expect_failures = [var.allowed_origins]
}

run "uploads_deleted_too_early" {
  command = plan

  variables {
    upload_days = 1
  }

  expect_failures = [var.upload_days]
}
