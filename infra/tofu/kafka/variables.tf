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
  description = "Private subnets, each in another zone. Each has one broker."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) == 3
    error_message = "Name three subnets: each topic has three copies, one in each zone."
  }
}

variable "client_security_group_ids" {
  description = "Security groups of the processes of Tidings."
  type        = list(string)
}

variable "secret_arn" {
  description = "ARN of a secret of Secrets Manager with `username` and `password`. Its name begins with AmazonMSK_, and its KMS key is your own."
  type        = string
}

variable "kafka_version" {
  description = "Version of Kafka. At least 4.0: consumers use its group protocol."
  type        = string
  default     = "4.0.x.kraft"
}

variable "instance_type" {
  description = "Type of a broker."
  type        = string
  default     = "kafka.m7g.large"
}

variable "volume_gb" {
  description = "Size of the volume of a broker when the cluster is created, in GB. Topics are kept for two days at most."
  type        = number
  default     = 200
}

variable "kms_key_arn" {
  description = "ARN of a KMS key that encrypts the volumes. Null: the key of MSK."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
