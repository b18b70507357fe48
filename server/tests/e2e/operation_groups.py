"""Operations of the API by the credential that they need, or the data that they use."""

FOR_NOTIFICATIONS = (
    *(
        "list_inboxes",
        "get_inbox",
        "set_inbox",
        "get_inbox_defaults",
        "set_inbox_defaults",
        "send_notification",
        "find_notification",
        "amend_notification",
        "redact_notification",
    ),
    *("get_user_preferences", "change_user_preferences"),
    *("get_email", "set_email", "list_user_emails", "report_bounce", "list_notification_pushes"),
    *("list_recipients", "explain_counts", "list_jobs", "get_job", "pause_job", "resume_job", "cancel_job"),
    *("legacy_send", "legacy_redact"),
)
FOR_BROADCASTS = (
    *("send_broadcast", "estimate_broadcast", "get_broadcast", "ramp_broadcast", "halt_broadcast"),
    *("list_readers", "list_segments", "get_segment", "set_segment", "upload_segment_users"),
    *("activate_segment", "get_profile", "set_profile"),
)
FOR_WEBHOOKS = (
    *("create_webhook", "list_webhooks", "get_webhook", "update_webhook", "delete_webhook"),
    *("rotate_webhook_secret", "test_webhook", "retry_webhook", "replay_webhook"),
    *("list_webhook_deliveries", "list_webhook_queue"),
    *("get_before_send_hook", "set_before_send_hook", "delete_before_send_hook"),
    *("get_content_rules", "set_content_rules"),
)
OF_NOTIFICATIONS = (
    *(
        "list_notifications",
        "count_notifications",
        "mark_notifications_read",
        "mark_notifications_unread",
        "mark_notifications_seen",
        "archive_notifications",
    ),
    *("restore_notifications", "legacy_list", "legacy_mark_read"),
)
