# Alarms on metrics of CloudWatch: capacity, throttled requests, latency of each operation. Prometheus alerts on the others.

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name          = "${var.prefix}${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/DynamoDB"
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  extended_statistic  = each.value.percentile
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.threshold
  period              = each.value.period_s
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  ok_actions          = var.alarm_topic_arns
  tags                = var.tags

  dimensions = merge(
    { TableName = aws_dynamodb_table.this[each.value.table].name },
    each.value.operation == null ? {} : { Operation = each.value.operation },
  )
}
