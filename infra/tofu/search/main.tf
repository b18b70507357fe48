# A domain of OpenSearch inside the VPC: TLS, encryption at rest, and one user with a password.

resource "aws_security_group" "this" {
  name        = "${var.name}-search"
  description = "OpenSearch of Tidings: only the processes api and search connect"
  vpc_id      = var.vpc_id
  tags        = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "processes" {
  # Not `for_each`: its keys must be known before the groups are created.
  count = length(var.client_security_group_ids)

  security_group_id            = aws_security_group.this.id
  referenced_security_group_id = var.client_security_group_ids[count.index]
  description                  = "HTTPS"
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
  tags                         = var.tags
}

resource "aws_opensearch_domain" "this" {
  domain_name    = var.name
  engine_version = "OpenSearch_2.19"
  tags           = var.tags

  cluster_config {
    instance_type          = var.instance_type
    instance_count         = length(var.subnet_ids)
    zone_awareness_enabled = true

    zone_awareness_config {
      availability_zone_count = length(var.subnet_ids)
    }
  }

  ebs_options {
    ebs_enabled = true
    volume_type = "gp3"
    volume_size = var.volume_gb
  }

  # The index has the words of messages, so its disks are encrypted as the tables are.
  encrypt_at_rest {
    enabled    = true
    kms_key_id = var.kms_key_arn
  }

  node_to_node_encryption {
    enabled = true
  }

  domain_endpoint_options {
    enforce_https       = true
    tls_security_policy = "Policy-Min-TLS-1-2-PFS-2023-10"
  }

  advanced_security_options {
    enabled                        = true
    internal_user_database_enabled = true

    master_user_options {
      master_user_name     = var.username
      master_user_password = var.password
    }
  }

  vpc_options {
    subnet_ids         = var.subnet_ids
    security_group_ids = [aws_security_group.this.id]
  }
}

# The security group limits the network, and the user limits requests: IAM adds nothing here.
data "aws_iam_policy_document" "access" {
  statement {
    actions   = ["es:ESHttp*"]
    resources = ["${aws_opensearch_domain.this.arn}/*"]

    principals {
      type        = "AWS"
      identifiers = ["*"]
    }
  }
}

resource "aws_opensearch_domain_policy" "this" {
  domain_name     = aws_opensearch_domain.this.domain_name
  access_policies = data.aws_iam_policy_document.access.json
}
