output "settings" {
  description = "Settings of Tidings, as environment variables."
  value = {
    TIDINGS_MEDIA_ENDPOINT = "aws"
    TIDINGS_MEDIA_BUCKET   = aws_s3_bucket.media.id
    TIDINGS_MEDIA_REGION   = aws_s3_bucket.media.region
  }
}

output "bucket_arn" {
  description = "ARN of the bucket."
  value       = aws_s3_bucket.media.arn
}

output "kms_key_arn" {
  description = "ARN of the key that encrypts the files."
  value       = local.kms_key_arn
}
