output "settings" {
  description = "Settings of Tidings, as environment variables. Set TIDINGS_KAFKA_SASL_USERNAME and …_PASSWORD from the secret."
  value = {
    TIDINGS_KAFKA_BOOTSTRAP_SERVERS = aws_msk_cluster.this.bootstrap_brokers_sasl_scram
    TIDINGS_KAFKA_SECURITY_PROTOCOL = "sasl_ssl"
    TIDINGS_KAFKA_SASL_MECHANISM    = "scram-sha-512"
  }
}
