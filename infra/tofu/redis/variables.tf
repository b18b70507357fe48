variable "name" {
  description = "Name of the cluster."
  type        = string
  default     = "tidings"
}

variable "vpc_id" {
  description = "VPC of the cluster."
  type        = string
}

variable "subnet_ids" {
  description = "Private subnets, in at least two zones."
  type        = list(string)
}

variable "client_security_group_ids" {
  description = "Security groups of the processes of Tidings."
  type        = list(string)
}

variable "password" {
  description = "Password of the default user: 16 to 128 letters, digits and the characters ! & # $ ^ < > -. Encode it in TIDINGS_REDIS_URL."
  type        = string
  sensitive   = true

  validation {
    condition     = can(regex("^[A-Za-z0-9!&#$^<>-]{16,128}$", var.password))
    error_message = "ElastiCache takes 16 to 128 letters, digits and the characters ! & # $ ^ < > -."
  }
}

variable "node_type" {
  description = "Type of a node."
  type        = string
  default     = "cache.m7g.large"
}

variable "shards" {
  description = "Number of shards."
  type        = number
  default     = 2
}

variable "replicas" {
  description = "Replicas of each shard. 0: a shard that fails loses its data, which Tidings repairs."
  type        = number
  default     = 1
}

variable "kms_key_arn" {
  description = "ARN of a KMS key that encrypts the data at rest. Null: the key of ElastiCache."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
