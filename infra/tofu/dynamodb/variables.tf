variable "prefix" {
  description = "Prefix of the names of all tables: `dynamo.table_prefix` of Tidings."
  type        = string
  default     = "tidings-"
}

variable "is_on_demand" {
  description = "Pay for each request in all tables. False: tables with a predictable load have provisioned capacity and scale."
  type        = bool
  default     = false
}

variable "standby_region" {
  description = "Region that gets a replica of each table that a failover needs. Null: none."
  type        = string
  default     = null
}

variable "table_kms_key_arn" {
  description = "ARN of a KMS key that encrypts the tables. Null: the key that AWS owns."
  type        = string
  default     = null
}

variable "standby_table_kms_key_arn" {
  description = "ARN of a KMS key in the standby region. Set it if, and only if, `table_kms_key_arn` is set."
  type        = string
  default     = null
}

variable "backup_kms_key_arn" {
  description = "ARN of a KMS key that encrypts daily backups. Null: the key of AWS Backup."
  type        = string
  default     = null
}

variable "backup_days" {
  description = "Days after which a daily backup is deleted."
  type        = number
  default     = 90
}

variable "alarm_topic_arns" {
  description = "ARNs of SNS topics that receive alarms."
  type        = list(string)
  default     = []
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
