# Tables: what protects them, capacity with and without auto scaling, a standby region, keys of KMS.

# Plans only: nothing is created, and no request is made to AWS.
provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
}

run "declared_capacity" {
  command = plan

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.point_in_time_recovery[0].enabled])
    error_message = "A table has no point-in-time recovery."
  }

  assert {
    condition = (
      [for name, table in aws_dynamodb_table.this : name if !table.deletion_protection_enabled] ==
      ["idempotency_keys", "leases", "pending_queue", "push_results"]
    )
    error_message = "Only tables that a restore creates again are not protected from deletion."
  }

  assert {
    condition = alltrue([
      for name, table in aws_dynamodb_table.this :
      (table.billing_mode == "PROVISIONED") == (local.tables[name].read != null)
    ])
    error_message = "A table is not in the capacity mode of its declaration."
  }

  assert {
    condition     = toset(keys(aws_appautoscaling_policy.this)) == toset(keys(local.scaling))
    error_message = "Auto scaling does not cover each provisioned table and index."
  }

  assert {
    condition = alltrue([
      for name, index in aws_dynamodb_global_secondary_index.this :
      length(index.provisioned_throughput) == (local.indexes[name].read == null ? 0 : 1)
    ])
    error_message = "An index has another capacity mode than its table."
  }

  assert {
    condition     = [for name, table in aws_dynamodb_table.this : name if table.stream_enabled] == ["messages"]
    error_message = "Only the log has a stream without a standby region."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : length(table.replica) == 0])
    error_message = "A table has a replica without a standby region."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.this) == length(local.alarms)
    error_message = "An alarm is missing."
  }

  assert {
    condition     = aws_dynamodb_table.this["user_keys"].point_in_time_recovery[0].recovery_period_in_days == 7
    error_message = "A destroyed key must not be restorable after a week."
  }

  assert {
    condition     = !local.tables["user_keys"].has_daily_backups
    error_message = "A destroyed key must not exist in a daily backup."
  }

  assert {
    condition = alltrue([
      for rule in aws_backup_plan.daily.rule :
      rule.lifecycle[0].cold_storage_after == 1 && rule.lifecycle[0].delete_after == 91 && rule.start_window == 60
    ])
    error_message = "A daily backup moves to cold storage after a day, is kept for 91 days, and starts within an hour."
  }

  assert {
    condition     = length(local.backed_up) == length([for table in local.tables : table if table.has_daily_backups])
    error_message = "The plan of backups does not have exactly the declared tables."
  }

  assert {
    condition     = output.settings.TIDINGS_DYNAMO_CAPACITY == "declared"
    error_message = "The setting must be the capacity mode of the tables."
  }
}

run "on_demand" {
  command = plan

  variables {
    prefix       = "chat-"
    is_on_demand = true
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.billing_mode == "PAY_PER_REQUEST"])
    error_message = "A table is provisioned."
  }

  assert {
    condition     = length(aws_appautoscaling_target.this) == 0
    error_message = "A table on demand has nothing to scale."
  }

  assert {
    condition     = alltrue([for index in aws_dynamodb_global_secondary_index.this : length(index.provisioned_throughput) == 0])
    error_message = "An index of a table on demand has provisioned capacity."
  }

  assert {
    condition     = alltrue([for name, table in aws_dynamodb_table.this : table.name == "chat-${name}"])
    error_message = "A table is without the prefix."
  }
}

run "standby_region" {
  command = plan

  variables {
    standby_region            = "eu-west-1"
    table_kms_key_arn         = "arn:aws:kms:eu-central-1:123456789012:key/11111111-1111-1111-1111-111111111111"
    standby_table_kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/22222222-2222-2222-2222-222222222222"
    backup_kms_key_arn        = "arn:aws:kms:eu-central-1:123456789012:key/33333333-3333-3333-3333-333333333333"
    alarm_topic_arns          = ["arn:aws:sns:eu-central-1:123456789012:on-call"]
    tags                      = { team = "chat" }
  }

  assert {
    condition = alltrue([
      for name, table in aws_dynamodb_table.this :
      join(",", [for each in table.replica : each.region_name]) == (local.tables[name].has_standby ? "eu-west-1" : "")
    ])
    error_message = "Exactly the tables that a failover needs have a replica."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.billing_mode == "PAY_PER_REQUEST"])
    error_message = "AWS refuses a replica of a provisioned table that does not scale yet."
  }

  assert {
    condition     = length(aws_appautoscaling_target.this) == 0
    error_message = "A table on demand has nothing to scale."
  }

  assert {
    condition = alltrue([
      for table in aws_dynamodb_table.this :
      length(table.replica) == 0 || table.stream_enabled && table.stream_view_type == "NEW_AND_OLD_IMAGES"
    ])
    error_message = "A table with a replica needs a stream with both images."
  }

  assert {
    condition = [
      for name, table in aws_dynamodb_table.this : name
      if anytrue([for each in table.replica : !each.point_in_time_recovery])
    ] == ["user_keys"]
    error_message = "Each replica has recovery, but that of user_keys: its recovery period would be 35 days."
  }

  assert {
    condition = alltrue(flatten([
      for table in aws_dynamodb_table.this :
      [for each in table.replica : each.deletion_protection_enabled == table.deletion_protection_enabled && each.kms_key_arn == var.standby_table_kms_key_arn]
    ]))
    error_message = "A replica is not protected or encrypted as its table."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.server_side_encryption[0].kms_key_arn == var.table_kms_key_arn])
    error_message = "A table is not encrypted with the given key."
  }

  assert {
    condition     = aws_kms_key.wrapping.multi_region && aws_kms_key.wrapping.enable_key_rotation
    error_message = "The standby region needs a replica of the wrapping key."
  }

  assert {
    condition     = output.settings.TIDINGS_DYNAMO_CAPACITY == "on_demand"
    error_message = "`tidings tables check` would report the tables."
  }
}

run "standby_key_is_missing" {
  command = plan

  variables {
    standby_region    = "eu-west-1"
    table_kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/11111111-1111-1111-1111-111111111111"
  }

  expect_failures = [aws_dynamodb_table.this]
}

run "backups_stay_in_cold_storage_for_90_days" {
  command = plan

  variables {
    backup_days = 60
  }

  expect_failures = [aws_backup_plan.daily]
}

run "backups_without_cold_storage" {
  command = plan

  variables {
    backup_days            = 30
    backup_cold_after_days = null
  }

  assert {
    condition     = alltrue([for rule in aws_backup_plan.daily.rule : rule.lifecycle[0].delete_after == 30])
    error_message = "Backups in warm storage may be deleted at any time."
  }
}
