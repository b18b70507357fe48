variable "name" {
  description = "Name of the domain."
  type        = string
  default     = "tidings"
}

variable "vpc_id" {
  description = "VPC of the domain."
  type        = string
}

variable "subnet_ids" {
  description = "Private subnets, two or three, each in another zone. Each has one node."
  type        = list(string)

  validation {
    condition     = contains([2, 3], length(var.subnet_ids))
    error_message = "Name two or three subnets."
  }
}

variable "client_security_group_ids" {
  description = "Security groups of the processes `api` and `search`."
  type        = list(string)
}

variable "username" {
  description = "User of Tidings: `search.username`."
  type        = string
  default     = "tidings"
}

variable "password" {
  description = "Password of the user: at least 8 characters with upper and lower case, a digit and a special character."
  type        = string
  sensitive   = true
}

variable "instance_type" {
  description = "Type of a node."
  type        = string
  default     = "r7g.large.search"
}

variable "volume_gb" {
  description = "Size of the volume of a node, in GB."
  type        = number
  default     = 100
}

variable "kms_key_arn" {
  description = "ARN of a KMS key that encrypts the volumes. Null: the key of OpenSearch Service."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
