# A cluster of Amazon MSK with TLS, users with passwords (SASL/SCRAM), and topics that survive the loss of one zone.

resource "aws_security_group" "this" {
  name        = "${var.name}-kafka"
  description = "Kafka of Tidings: only its processes connect"
  vpc_id      = var.vpc_id
  tags        = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "processes" {
  # Not `for_each`: its keys must be known before the groups are created.
  count = length(var.client_security_group_ids)

  security_group_id            = aws_security_group.this.id
  referenced_security_group_id = var.client_security_group_ids[count.index]
  description                  = "SASL/SCRAM over TLS"
  ip_protocol                  = "tcp"
  from_port                    = 9096
  to_port                      = 9096
  tags                         = var.tags
}

resource "aws_msk_configuration" "this" {
  name           = var.name
  kafka_versions = [var.kafka_version]

  # Tidings creates its topics with `tidings topics apply`. An acknowledged record is on two brokers.
  server_properties = <<-EOT
    auto.create.topics.enable=false
    default.replication.factor=3
    min.insync.replicas=2
    unclean.leader.election.enable=false
  EOT
}

resource "aws_msk_cluster" "this" {
  cluster_name           = var.name
  kafka_version          = var.kafka_version
  number_of_broker_nodes = length(var.subnet_ids)
  enhanced_monitoring    = "PER_TOPIC_PER_BROKER"
  tags                   = var.tags

  broker_node_group_info {
    instance_type   = var.instance_type
    client_subnets  = var.subnet_ids
    security_groups = [aws_security_group.this.id]

    storage_info {
      ebs_storage_info {
        volume_size = var.volume_gb
      }
    }
  }

  configuration_info {
    arn      = aws_msk_configuration.this.arn
    revision = aws_msk_configuration.this.latest_revision
  }

  client_authentication {
    sasl {
      scram = true
    }
  }

  encryption_info {
    encryption_at_rest_kms_key_arn = var.kms_key_arn

    encryption_in_transit {
      client_broker = "TLS"
      in_cluster    = true
    }
  }

  lifecycle {
    # Operators grow volumes while brokers run. A volume cannot shrink.
    ignore_changes = [broker_node_group_info[0].storage_info[0].ebs_storage_info[0].volume_size]
  }
}

resource "aws_msk_scram_secret_association" "this" {
  cluster_arn     = aws_msk_cluster.this.arn
  secret_arn_list = [var.secret_arn]
}
