# The tables of Tidings. `tables.tf.json` is generated from the declaration of the tables; this file has no table of its own.

locals {
  standby_regions = var.standby_region == null ? [] : [var.standby_region]
}

resource "aws_dynamodb_table" "this" {
  for_each = local.tables

  name                        = "${var.prefix}${each.key}"
  billing_mode                = each.value.read == null || var.is_on_demand ? "PAY_PER_REQUEST" : "PROVISIONED"
  read_capacity               = var.is_on_demand ? null : each.value.read
  write_capacity              = var.is_on_demand ? null : each.value.write
  hash_key                    = each.value.hash_key
  range_key                   = each.value.range_key
  table_class                 = each.value.class
  stream_enabled              = each.value.stream != null
  stream_view_type            = each.value.stream
  deletion_protection_enabled = each.value.is_protected
  tags                        = merge(var.tags, { "tidings:prefix" = var.prefix, "tidings:table" = each.key })

  dynamic "attribute" {
    for_each = each.value.attributes

    content {
      name = attribute.key
      type = attribute.value
    }
  }

  dynamic "global_secondary_index" {
    for_each = each.value.indexes

    content {
      name            = global_secondary_index.key
      hash_key        = global_secondary_index.value.hash_key
      range_key       = global_secondary_index.value.range_key
      projection_type = global_secondary_index.value.projection
      read_capacity   = var.is_on_demand ? null : global_secondary_index.value.read
      write_capacity  = var.is_on_demand ? null : global_secondary_index.value.write
    }
  }

  dynamic "ttl" {
    for_each = each.value.ttl == null ? [] : [each.value.ttl]

    content {
      enabled        = true
      attribute_name = ttl.value
    }
  }

  point_in_time_recovery {
    enabled                 = each.value.pitr_days != null
    recovery_period_in_days = each.value.pitr_days
  }

  server_side_encryption {
    enabled     = var.table_kms_key_arn != null
    kms_key_arn = var.table_kms_key_arn
  }

  dynamic "replica" {
    for_each = each.value.has_standby ? local.standby_regions : []

    content {
      region_name                 = replica.value
      kms_key_arn                 = var.standby_table_kms_key_arn
      point_in_time_recovery      = each.value.pitr_days != null
      deletion_protection_enabled = each.value.is_protected
      propagate_tags              = true
    }
  }

  lifecycle {
    # Auto scaling changes them.
    ignore_changes = [read_capacity, write_capacity]
  }
}

# Wraps the keys of tenants and users. Multi-Region, so that a standby region can unwrap what the tables replicate.
resource "aws_kms_key" "wrapping" {
  description             = "Keys of Tidings (${var.prefix})"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  multi_region            = true
  tags                    = var.tags
}

resource "aws_kms_alias" "wrapping" {
  name          = "alias/${var.prefix}wrapping"
  target_key_id = aws_kms_key.wrapping.key_id
}
