# Auto scaling of provisioned tables and their indexes, between the declared capacity and its upper bound.

resource "aws_appautoscaling_target" "this" {
  for_each = local.is_on_demand ? {} : local.scaling

  service_namespace = "dynamodb"
  resource_id = join("/", concat(
    ["table", aws_dynamodb_table.this[each.value.table].name],
    each.value.index == null ? [] : [
      "index", aws_dynamodb_global_secondary_index.this["${each.value.table}-${each.value.index}"].index_name,
    ],
  ))
  scalable_dimension = "dynamodb:${each.value.index == null ? "table" : "index"}:${each.value.kind}CapacityUnits"
  min_capacity       = each.value.min
  max_capacity       = each.value.max
  tags               = var.tags
}

resource "aws_appautoscaling_policy" "this" {
  for_each = aws_appautoscaling_target.this

  name               = "tidings-${each.key}"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = each.value.service_namespace
  resource_id        = each.value.resource_id
  scalable_dimension = each.value.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value = local.scaling[each.key].target_percent

    predefined_metric_specification {
      predefined_metric_type = "DynamoDB${local.scaling[each.key].kind}CapacityUtilization"
    }
  }
}
