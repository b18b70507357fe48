output "role_arns" {
  description = "ARN of the role of each process; `operator` is the role for commands."
  value       = { for process, role in aws_iam_role.process : process => role.arn }
}

output "policies" {
  description = "The policy of each process as JSON, to attach it to roles of your own."
  value       = local.policies
}
