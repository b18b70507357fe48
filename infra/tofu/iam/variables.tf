variable "prefix" {
  description = "Prefix of the names of tables: `dynamo.table_prefix` of Tidings."
  type        = string
  default     = "tidings-"
}

variable "role_prefix" {
  description = "Prefix of the names of roles. Roles are global, so a second region needs another one. Null: as `prefix`."
  type        = string
  default     = null

  validation {
    condition     = length(var.role_prefix == null ? "" : var.role_prefix) <= 50
    error_message = "The name of a role has at most 64 characters, and the longest process has 13. Use at most 50."
  }
}

variable "wrapping_key_arn" {
  description = "ARN of the KMS key that wraps the keys of tenants and users: output `wrapping_key_arn` of the module dynamodb."
  type        = string
}

variable "bucket_arn" {
  description = "ARN of the bucket of attachments: output `bucket_arn` of the module media."
  type        = string
}

variable "media_key_arn" {
  description = "ARN of the KMS key of the bucket: output `kms_key_arn` of the module media."
  type        = string
}

variable "trust_policy" {
  description = "Who may assume the roles of processes, as JSON. Null: pods of EKS, through EKS Pod Identity."
  type        = string
  default     = null
}

variable "eks_cluster" {
  description = "Name of the EKS cluster whose pods get the roles. Null: bind the roles yourself."
  type        = string
  default     = null
}

variable "namespace" {
  description = "Kubernetes namespace of Tidings."
  type        = string
  default     = "tidings"
}

variable "release" {
  description = "Name of the Helm release."
  type        = string
  default     = "tidings"
}

variable "operator_trust_policy" {
  description = "Who may assume the role for commands such as `tidings tenant`, as JSON. Null: as `trust_policy`."
  type        = string
  default     = null
}

variable "key_admin_arns" {
  description = "ARNs of the IAM roles that administer the wrapping key. They cannot decrypt with it."
  type        = list(string)

  validation {
    condition     = length(var.key_admin_arns) > 0
    error_message = "Name at least one role. Without one, nobody can change the policy of the key."
  }
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
