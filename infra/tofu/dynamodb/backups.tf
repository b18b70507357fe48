# Daily backups, which are full copies: one day in warm storage, then 90 in cold storage, which costs less than a third.
# The table of user keys has none: a destroyed key must not exist in a copy.

locals {
  backed_up = [for name, table in local.tables : aws_dynamodb_table.this[name].arn if table.has_daily_backups]
}

resource "aws_backup_vault" "daily" {
  name        = "${var.prefix}daily"
  kms_key_arn = var.backup_kms_key_arn
  tags        = var.tags
}

resource "aws_backup_plan" "daily" {
  name = "${var.prefix}daily"
  tags = var.tags

  rule {
    rule_name         = "daily"
    target_vault_name = aws_backup_vault.daily.name
    schedule          = var.backup_schedule
    # Minutes in which all backups start. A restore completes rows of tables that are at most an hour apart.
    start_window = 60

    lifecycle {
      cold_storage_after = var.backup_cold_after_days
      delete_after       = var.backup_days
    }
  }

  lifecycle {
    precondition {
      condition     = var.backup_cold_after_days == null ? true : var.backup_days >= var.backup_cold_after_days + 90
      error_message = "A backup stays in cold storage for at least 90 days: backup_days must be at least backup_cold_after_days + 90, or backup_cold_after_days null."
    }
  }
}

# Settings of the whole account in this Region, so only on request.
resource "aws_backup_region_settings" "this" {
  count = var.backup_region_settings == null ? 0 : 1

  resource_type_opt_in_preference     = var.backup_region_settings.opt_in
  resource_type_management_preference = var.backup_region_settings.management
}

data "aws_iam_policy_document" "backup_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["backup.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "backup" {
  name               = "${var.prefix}backup"
  assume_role_policy = data.aws_iam_policy_document.backup_trust.json
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "backup" {
  for_each = toset(["Backup", "Restores"])

  role       = aws_iam_role.backup.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AWSBackupServiceRolePolicyFor${each.key}"
}

resource "aws_backup_selection" "daily" {
  name         = "${var.prefix}tables"
  plan_id      = aws_backup_plan.daily.id
  iam_role_arn = aws_iam_role.backup.arn
  resources    = local.backed_up
}
