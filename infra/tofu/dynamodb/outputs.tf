output "settings" {
  description = "Settings of Tidings, as environment variables."
  value = {
    TIDINGS_DYNAMO_TABLE_PREFIX = var.prefix
    TIDINGS_DYNAMO_CAPACITY     = local.is_on_demand ? "on_demand" : "declared"
  }
}

output "table_arns" {
  description = "ARN of each table."
  value       = { for name, table in aws_dynamodb_table.this : name => table.arn }
}

output "stream_arns" {
  description = "ARN of the change stream of each table that has one."
  value       = { for name, table in aws_dynamodb_table.this : name => table.stream_arn if table.stream_enabled }
}

output "wrapping_key_arn" {
  description = "ARN of the KMS key that wraps the keys of tenants and users."
  value       = aws_kms_key.wrapping.arn
}
