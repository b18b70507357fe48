# A role and a policy for each process. The files in `policies` are generated from the calls that each process makes.

data "aws_partition" "current" {}
data "aws_region" "current" {}
data "aws_caller_identity" "current" {}

locals {
  values = {
    partition    = data.aws_partition.current.partition
    region       = data.aws_region.current.region
    account      = data.aws_caller_identity.current.account_id
    prefix       = var.prefix
    wrapping_key = var.wrapping_key_arn
    media_key    = var.media_key_arn
    bucket       = var.bucket_arn
  }
  policies = {
    for file in fileset("${path.module}/policies", "*.json") :
    trimsuffix(file, ".json") => jsonencode(jsondecode(templatefile("${path.module}/policies/${file}", local.values)))
  }
  trust_policies = {
    for process in keys(local.policies) : process =>
    process == "operator" && var.operator_trust_policy != null ? var.operator_trust_policy : local.trust_policy
  }
  trust_policy = var.trust_policy != null ? var.trust_policy : data.aws_iam_policy_document.pods.json
}

data "aws_iam_policy_document" "pods" {
  statement {
    actions = ["sts:AssumeRole", "sts:TagSession"]

    principals {
      type        = "Service"
      identifiers = ["pods.eks.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "process" {
  for_each = local.trust_policies

  name               = "${coalesce(var.role_prefix, var.prefix)}${each.key}"
  assume_role_policy = each.value
  tags               = var.tags
}

resource "aws_iam_role_policy" "process" {
  for_each = local.trust_policies

  name   = "tidings"
  role   = aws_iam_role.process[each.key].id
  policy = local.policies[each.key]
}

# The Helm chart with `serviceAccount.perProcess` creates these service accounts. Its job applies the schema as an operator.
resource "aws_eks_pod_identity_association" "process" {
  for_each = var.eks_cluster == null ? {} : local.trust_policies

  cluster_name    = var.eks_cluster
  namespace       = var.namespace
  service_account = "${var.release}-${each.key == "operator" ? "schema" : each.key}"
  role_arn        = aws_iam_role.process[each.key].arn
  tags            = var.tags
}

# Only these roles use the key: a permission in IAM alone is not enough to decrypt. Administrators cannot decrypt.
data "aws_iam_policy_document" "wrapping_key" {
  statement {
    sid = "Administer"
    actions = [
      "kms:CancelKeyDeletion",
      "kms:CreateAlias",
      "kms:DeleteAlias",
      "kms:DescribeKey",
      "kms:DisableKey",
      "kms:EnableKey",
      "kms:EnableKeyRotation",
      "kms:GetKeyPolicy",
      "kms:GetKeyRotationStatus",
      "kms:ListKeyPolicies",
      "kms:ListResourceTags",
      "kms:PutKeyPolicy",
      "kms:ReplicateKey",
      "kms:ScheduleKeyDeletion",
      "kms:TagResource",
      "kms:UntagResource",
      "kms:UpdateAlias",
      "kms:UpdateKeyDescription",
    ]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = var.key_admin_arns
    }
  }

  statement {
    sid       = "Use"
    actions   = ["kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = [for role in aws_iam_role.process : role.arn]
    }
  }
}

resource "aws_kms_key_policy" "wrapping_key" {
  key_id = var.wrapping_key_arn
  policy = data.aws_iam_policy_document.wrapping_key.json
}
