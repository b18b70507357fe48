variable "prefix" {
  description = "Prefix of the names of all tables: `dynamo.table_prefix` of Tidings."
  type        = string
  default     = "tidings-"
}

variable "is_on_demand" {
  description = "Pay for each request in all tables. False: tables with a predictable load have provisioned capacity and scale. With a standby region, all tables are on demand."
  type        = bool
  default     = false
}

variable "standby_region" {
  description = "Region that gets a replica of each table that a failover needs, other than the region of the tables. All tables are on demand then. Null: none."
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

variable "backup_schedule" {
  description = "When backups are taken, as a cron expression of AWS. The default is daily."
  type        = string
  default     = "cron(0 3 * * ? *)"
}

variable "backup_cold_after_days" {
  description = "Days after which a backup moves to cold storage, where it stays for at least 90 days. Null: never."
  type        = number
  default     = 1
}

variable "backup_days" {
  description = "Days after which a backup is deleted."
  type        = number
  default     = 91

  validation {
    condition     = var.backup_days < 400
    error_message = "backup_days must be less than 400: the table erasures lists erased users for 400 days, and a restore erases them again by this list."
  }
}

variable "backup_region_settings" {
  description = "Settings of AWS Backup for all resources of the account in this Region, as `aws backup describe-region-settings` shows them: `opt_in` and `management` of each type. Null: the module leaves them as they are."
  type = object({
    opt_in     = map(bool)
    management = map(bool)
  })
  default = null

  validation {
    condition     = var.backup_region_settings == null ? true : lookup(var.backup_region_settings.management, "DynamoDB", false)
    error_message = "backup_region_settings.management needs DynamoDB = true: cold storage is an advanced feature of DynamoDB backups."
  }
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
