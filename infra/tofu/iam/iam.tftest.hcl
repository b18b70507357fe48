# Roles: one for each process, who may assume them, and who may use the wrapping key.

# Plans only: nothing is created, and no request is made to AWS.
provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

override_data {
  target = data.aws_caller_identity.current
  values = { account_id = "123456789012" }
}

variables {
  wrapping_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/mrk-11111111111111111111111111111111"
  media_key_arn    = "arn:aws:kms:eu-central-1:123456789012:key/22222222-2222-2222-2222-222222222222"
  bucket_arn       = "arn:aws:s3:::example-tidings-media"
  key_admin_arns   = ["arn:aws:iam::123456789012:role/administrator"]
}

run "eks" {
  command = plan

  variables {
    eks_cluster = "production"
  }

  assert {
    condition = toset(keys(aws_iam_role.process)) == toset([
      "api", "archive", "console", "delivery", "gateway", "media", "notifications", "operator", "push", "relay", "search",
      "webhooks",
    ])
    error_message = "Each process has a role, and commands have one."
  }

  assert {
    condition     = alltrue([for process, role in aws_iam_role_policy.process : jsondecode(role.policy) == jsondecode(local.policies[process])])
    error_message = "A role has the policy of another process."
  }

  assert {
    condition     = alltrue([for policy in aws_iam_role_policy.process : length(policy.policy) <= 10240])
    error_message = "IAM takes at most 10,240 characters for the inline policies of a role."
  }

  assert {
    condition     = alltrue([for policy in aws_iam_role_policy.process : !strcontains(policy.policy, "$${")])
    error_message = "A template has a value that was not given."
  }

  assert {
    condition = alltrue([
      for role in aws_iam_role.process :
      jsondecode(role.assume_role_policy).Statement[0].Principal.Service == "pods.eks.amazonaws.com"
    ])
    error_message = "Only pods of EKS may assume the roles."
  }

  assert {
    condition     = aws_eks_pod_identity_association.process["operator"].service_account == "tidings-schema"
    error_message = "The job of the chart has the role for commands."
  }

  assert {
    condition     = length(aws_eks_pod_identity_association.process) == length(aws_iam_role.process)
    error_message = "A service account has no role."
  }
}

run "another_platform" {
  command = plan

  variables {
    prefix                = "chat-"
    trust_policy          = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }] })
    operator_trust_policy = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { AWS = "arn:aws:iam::123456789012:root" } }] })
  }

  assert {
    condition     = length(aws_eks_pod_identity_association.process) == 0
    error_message = "Without EKS, nothing is bound."
  }

  assert {
    condition = alltrue([
      for process, role in aws_iam_role.process :
      strcontains(role.assume_role_policy, process == "operator" ? "123456789012:root" : "ecs-tasks.amazonaws.com")
    ])
    error_message = "A role can be assumed by others than the given ones."
  }

  assert {
    condition     = strcontains(output.policies["delivery"], "arn:aws:dynamodb:eu-central-1:123456789012:table/chat-messages")
    error_message = "The policy names the tables with the prefix."
  }
}

run "standby_region" {
  command = plan

  variables {
    prefix      = "tidings-"
    role_prefix = "tidings-standby-"
  }

  assert {
    condition     = alltrue([for process, role in aws_iam_role.process : role.name == "tidings-standby-${process}"])
    error_message = "Roles are global, so those of a second region need names of their own."
  }

  assert {
    condition     = strcontains(output.policies["delivery"], ":table/tidings-messages")
    error_message = "The tables of a standby region have the same names."
  }
}

run "role_name_too_long" {
  command = plan

  variables {
    role_prefix = "012345678901234567890123456789012345678901234567890"
  }

  expect_failures = [var.role_prefix]
}

run "no_administrator" {
  command = plan

  variables {
    key_admin_arns = []
  }

  expect_failures = [var.key_admin_arns]
}
