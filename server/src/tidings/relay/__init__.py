"""The relay: audits every commit in DynamoDB's stream and republishes those that delivery has not processed."""
