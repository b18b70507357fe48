# The tables of Tidings. `tables.tf.json` is generated from the declaration of the tables; this file has no table of its own.

locals {
  standby_regions = var.standby_region == null ? [] : [var.standby_region]

  # AWS creates a replica only of a table that is on demand or has auto scaling of writes, and auto scaling needs the table first.
  is_on_demand = var.is_on_demand || var.standby_region != null

  # A replica is fed by the stream of its table. AWS turns the stream on with the replica and refuses to turn it off.
  streams = {
    for name, table in local.tables :
    name => table.has_standby && var.standby_region != null ? "NEW_AND_OLD_IMAGES" : table.stream
  }

  indexes = merge([
    for name, table in local.tables : { for index, each in table.indexes : "${name}-${index}" => merge(each, {
      table = name
      name  = index
    }) }
  ]...)
}

resource "aws_dynamodb_table" "this" {
  for_each = local.tables

  name                        = "${var.prefix}${each.key}"
  billing_mode                = each.value.read == null || local.is_on_demand ? "PAY_PER_REQUEST" : "PROVISIONED"
  read_capacity               = local.is_on_demand ? null : each.value.read
  write_capacity              = local.is_on_demand ? null : each.value.write
  hash_key                    = each.value.hash_key
  range_key                   = each.value.range_key
  table_class                 = each.value.class
  stream_enabled              = local.streams[each.key] != null
  stream_view_type            = local.streams[each.key]
  deletion_protection_enabled = each.value.is_protected
  tags                        = merge(var.tags, { "tidings:prefix" = var.prefix, "tidings:table" = each.key })

  dynamic "attribute" {
    for_each = {
      for name, type in each.value.attributes : name => type if contains([each.value.hash_key, each.value.range_key], name)
    }

    content {
      name = attribute.key
      type = attribute.value
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
      region_name = replica.value
      kms_key_arn = var.standby_table_kms_key_arn
      # The provider sets no recovery period for a replica, so AWS keeps 35 days. A table whose copies must not be so old has
      # no recovery in the standby region: after a failover, `tidings tables apply` turns it on with the declared period.
      point_in_time_recovery      = each.value.pitr_days == 35
      deletion_protection_enabled = each.value.is_protected
      propagate_tags              = true
    }
  }

  lifecycle {
    # Auto scaling changes them.
    ignore_changes = [read_capacity, write_capacity]

    precondition {
      condition     = var.standby_region == null || (var.table_kms_key_arn == null) == (var.standby_table_kms_key_arn == null)
      error_message = "Set both table_kms_key_arn and standby_table_kms_key_arn, or none: AWS refuses other replicas."
    }
  }
}

# Indexes are resources of their own, so that the capacity that auto scaling sets can be ignored, and nothing else of an index.
resource "aws_dynamodb_global_secondary_index" "this" {
  for_each = local.indexes

  table_name = aws_dynamodb_table.this[each.value.table].name
  index_name = each.value.name

  dynamic "key_schema" {
    for_each = { for type, name in { HASH = each.value.hash_key, RANGE = each.value.range_key } : type => name if name != null }

    content {
      attribute_name = key_schema.value
      attribute_type = local.tables[each.value.table].attributes[key_schema.value]
      key_type       = key_schema.key
    }
  }

  projection {
    projection_type = each.value.projection
  }

  dynamic "provisioned_throughput" {
    for_each = each.value.read == null || local.is_on_demand ? [] : [each.value]

    content {
      read_capacity_units  = provisioned_throughput.value.read
      write_capacity_units = provisioned_throughput.value.write
    }
  }

  lifecycle {
    # Auto scaling changes it.
    ignore_changes = [provisioned_throughput]
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
