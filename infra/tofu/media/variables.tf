variable "bucket" {
  description = "Name of the bucket: `media.bucket` of Tidings."
  type        = string
}

variable "allowed_origins" {
  description = "Origins of your web apps, for example https://app.example.com. Use the same as in `api.allowed_origins`."
  type        = list(string)
  default     = []

  validation {
    condition     = !contains(var.allowed_origins, "*")
    error_message = "List the origins. With `*`, every web page that obtains a URL can use it."
  }
}

variable "kms_key_arn" {
  description = "ARN of an existing KMS key that encrypts the files. Null: create one."
  type        = string
  default     = null
}

variable "upload_days" {
  description = "Days after which the bucket deletes parts of unfinished uploads. More than `media.upload_life_s`."
  type        = number
  default     = 8

  validation {
    condition     = var.upload_days >= 2
    error_message = "The sweeper deletes unfinished uploads. The bucket must wait longer, at least 2 days."
  }
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
