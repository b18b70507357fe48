// Generated from protocol/openapi.json by `just web gen`.

export interface paths {
    "/stack/admin/v1/{tenant}/{inbox}/messages/post": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message
         * @description Send a message to specific users, to everyone, or to a segment.
         *
         *     A job delivers it to specific users. To everyone or to a segment it is a broadcast: nothing is copied per user.
         */
        post: operations["legacy_send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stack/admin/v1/{tenant}/{inbox}/messages/redact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Redact a sent message
         * @description Hide a message from all recipients.
         */
        delete: operations["legacy_redact"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stack/users/v1/{tenant}/{inbox}/messages/last/{limit}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the latest messages
         * @description List the user's latest messages, newest first, with the unread counts.
         */
        get: operations["legacy_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stack/users/v1/{tenant}/{inbox}/messages/read/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Mark messages as read
         * @description Mark messages as read: by `ids`, or all `before` a time in Unix seconds, optionally of one `category`.
         */
        put: operations["legacy_mark_read"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/before-send-hook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the before-send hook
         * @description Get the hook, without its secret.
         */
        get: operations["get_before_send_hook"];
        /**
         * Set the before-send hook
         * @description Create or change the hook that may change or refuse messages. Processes use it within 30 seconds.
         */
        put: operations["set_before_send_hook"];
        post?: never;
        /**
         * Remove the before-send hook
         * @description Remove the hook. Within 30 seconds, messages are stored without it.
         */
        delete: operations["delete_before_send_hook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List blocked users
         * @description List the users that the user has blocked, by id.
         */
        get: operations["list_blocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/blocks/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Block a user
         * @description Block a user. Neither of the two can send messages to the other in their direct chat.
         */
        put: operations["block_user"];
        post?: never;
        /**
         * Unblock a user
         * @description Remove a block.
         */
        delete: operations["unblock_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List chats
         * @description List the user's chats with preview, unread count and some members. Pinned chats come first, then by activity.
         */
        get: operations["list_chats"];
        put?: never;
        /**
         * Create a chat
         * @description Create a group, or get or create the direct chat with a user.
         *
         *     The caller becomes the owner of a group. A retry with the same idempotency key returns the same group. Two users
         *     have one direct chat: each request for it is answered with 200 and the same chat, whichever user creates it.
         *
         *     A group with more than 96 members is answered with 202: it exists, and `job` adds the other members. Read its progress
         *     with `get_member_job`. The tenant's `max_members` limits the members of a group and the size of the body.
         */
        post: operations["create_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a chat
         * @description Get a chat with its newest message. Only members can read it.
         */
        get: operations["get_chat"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Rename a group
         * @description Change the name of a group. Requires the role `owner` or `admin`.
         */
        patch: operations["rename_chat"];
        trace?: never;
    };
    "/v1/chats/{chat}/bans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List bans
         * @description List the banned users of a group by id. Requires the role `owner` or `admin`.
         */
        get: operations["list_bans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/bans/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Ban a user
         * @description Ban a user from a group. A member is removed. Until the ban ends, they cannot join, accept an invite or be added.
         *
         *     The ban is an entry of the log with its end and its reason. Requires the role `owner` or `admin`; only the owner bans
         *     an admin.
         */
        put: operations["ban_user"];
        post?: never;
        /**
         * Unban a user
         * @description End a ban. The user does not become a member. A user who is not banned causes no error.
         */
        delete: operations["unban_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/delivered": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Mark messages as delivered
         * @description Mark all messages up to `sequence` as delivered. The watermark only moves forward.
         *
         *     Clients with a WebSocket connection do not need this.
         */
        put: operations["mark_delivered"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/invites": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite users
         * @description Invite users to a group. They become members when they accept. Members are skipped.
         */
        post: operations["invite_users"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/invites/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an invite
         * @description Revoke the invite of a user. A user without an invite causes no error.
         */
        delete: operations["revoke_invite"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join a group
         * @description Join a group whose rule is `open`, or `link` with the token of its link. A member causes no error.
         *
         *     A group that the user may not join is answered with `chat_not_found`.
         */
        post: operations["join_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a join link
         * @description Create the link of a group. The link before it is invalid from then on. It admits while the rule is `link`.
         */
        post: operations["create_join_link"];
        /**
         * Revoke the join link
         * @description Revoke the link of a group. A join that has not committed is refused.
         */
        delete: operations["revoke_join_link"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/member-jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the progress of adding members
         * @description Get the state and progress of a job that adds members. Requires the role `owner` or `admin`.
         *
         *     `failed` counts users who could not be added: they were erased, joined and left too often, the group was full, or the user who
         *     started the job may no longer add members.
         */
        get: operations["get_member_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List members
         * @description List the members of a chat by id, with role and watermarks. Large chats have no watermarks.
         */
        get: operations["list_members"];
        put?: never;
        /**
         * Add members
         * @description Add users to a group. Users who are already members are not changed.
         *
         *     Up to 96 users are added at once, and the answer is 204. For more, the answer is 202 with a `job` that adds them in
         *     chunks; read its progress with `get_member_job`. The tenant's `max_members` limits the members of a group and the
         *     size of the body.
         */
        post: operations["add_members"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/members-by-phone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a member by phone number
         * @description Find a user as `POST /v1/user-search` does, with the same errors and limits, and add them to the group.
         *
         *     The permission to add members is checked before the number is looked up. The number is not stored in the chat and
         *     not shown to its members.
         */
        post: operations["add_member_by_phone"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/members/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member or leave
         * @description Remove a member from a group. With the user's own id, leave it. A user who is not a member causes no error.
         */
        delete: operations["remove_member"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/members/{user}/mute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Mute a member
         * @description Mute a member: they read the group, and may not send, edit or react. Only the owner mutes an admin.
         */
        put: operations["mute_member"];
        post?: never;
        /**
         * Unmute a member
         * @description End a mute. A member who is not muted causes no error.
         */
        delete: operations["unmute_member"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/members/{user}/role": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change a member's role
         * @description Make a member an admin, or an admin a member.
         */
        put: operations["change_role"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List messages
         * @description List the entries of a chat that the user may read, newest first.
         *
         *     Without `before`, `after` or `around`, the page has the newest entries. `covered_range` is the range of sequences for
         *     which the page is complete.
         */
        get: operations["list_messages"];
        put?: never;
        /**
         * Send a message
         * @description Commit a message to a chat and return its sequence.
         *
         *     A retry with the same `client_message_id` returns the first answer with status 200.
         */
        post: operations["send_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/owner": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Transfer ownership
         * @description Make a member the owner of the group. The previous owner becomes an admin, in the same step.
         */
        put: operations["transfer_chat"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Mark messages as read
         * @description Mark all messages up to `sequence` as read. The watermark only moves forward: a lower sequence has no effect.
         */
        put: operations["mark_read"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Freeze a group, or set slow mode or its join rule
         * @description Change the rules of a group. Requires the role `owner` or `admin`.
         *
         *     In a frozen group only admins send, edit and react. Slow mode is the time between two messages of a member; admins are
         *     exempt. The rules apply to every message after this change.
         */
        put: operations["set_chat_rules"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{chat}/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Mute, pin or archive a chat
         * @description Change the user's own settings of a chat. The user's connected devices receive the changed chat row.
         */
        patch: operations["update_chat_settings"];
        trace?: never;
    };
    "/v1/chats/{chat}/unread/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain an unread count
         * @description Return the positions that the unread count of a chat is derived from.
         */
        get: operations["explain_unread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/content-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the lists of words and links
         * @description Get the words and domains that messages and edits must not contain.
         */
        get: operations["get_content_rules"];
        /**
         * Set the lists of words and links
         * @description Replace the lists. Processes use them within 30 seconds, before the before-send hook.
         *
         *     Whole words are compared, without case and accents: `darn` is not found in `darned`. A domain includes its
         *     subdomains. Empty lists remove all.
         */
        put: operations["set_content_rules"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/devices/{device}/push": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Register a device for push notifications
         * @description Register a device, or replace its registration. Send it at each start of the app, because tokens change.
         *
         *     A token has one owner. If another user registered it before, they no longer receive notifications there. The
         *     registration ends with the session of the device.
         */
        put: operations["register_push"];
        post?: never;
        /**
         * Stop push notifications of a device
         * @description Remove the registration of a device. A device without one causes no error.
         */
        delete: operations["unregister_push"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/directory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all users
         * @description List all users of the tenant, each once, in no particular order. Requires an API key with the scope `users`.
         *
         *     Users appear once they are created, or at their first accepted credential.
         */
        get: operations["list_directory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/email/bounces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a bounced mail
         * @description Turn off the address of a mail that bounced or was reported as spam, until the user has another address.
         *
         *     Call it from the handler of your mail provider's webhook. Repeating a report is safe.
         */
        post: operations["report_bounce"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inbox-defaults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get inbox defaults
         * @description Get the values that new inboxes of the tenant start with.
         */
        get: operations["get_inbox_defaults"];
        /**
         * Replace inbox defaults
         * @description Set the values that new inboxes start with. Existing inboxes do not change.
         */
        put: operations["set_inbox_defaults"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List inboxes
         * @description List the inboxes of the tenant, by id.
         */
        get: operations["list_inboxes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an inbox
         * @description Get the configuration of an inbox.
         */
        get: operations["get_inbox"];
        /**
         * Create or replace an inbox
         * @description Create an inbox or replace its configuration. Every process applies the change within five seconds.
         */
        put: operations["set_inbox"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive notifications
         * @description Move notifications to the archive. They are no longer listed or counted.
         */
        post: operations["archive_notifications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/broadcast-estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Estimate a broadcast
         * @description Estimate how many users a broadcast would reach and what it would cost. Sends nothing.
         */
        post: operations["estimate_broadcast"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/broadcasts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a broadcast
         * @description Send a notification to everyone in an inbox, or to a segment. Nothing is copied per user.
         *
         *     Reads include it within a second, or at once with `at_least`. A retry with the same `Idempotency-Key` returns the
         *     first answer with status 200.
         */
        post: operations["send_broadcast"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/broadcasts/{notification}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a broadcast
         * @description Get the progress of a broadcast. After a recall, it also proves when the broadcast was no longer visible.
         */
        get: operations["get_broadcast"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/broadcasts/{notification}/halt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop the rollout of a broadcast
         * @description Stop the rollout permanently, including planned steps.
         *
         *     Users who already see the broadcast keep it. To remove it, recall the notification.
         */
        post: operations["halt_broadcast"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/broadcasts/{notification}/ramp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Roll out a broadcast further
         * @description Show a broadcast to a larger share of its users. For the added users it is new and unread.
         */
        post: operations["ramp_broadcast"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/broadcasts/{notification}/readers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List readers of a broadcast
         * @description List the users who have read a broadcast, by id. It must have been sent with `track_reads`.
         */
        get: operations["list_readers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get unread counts
         * @description Get the unread counts of an inbox, with an `ETag`. Returns 304 without a body if nothing has changed.
         */
        get: operations["count_notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the mails of an inbox
         * @description Get sender name and templates of the mails of an inbox.
         */
        get: operations["get_email"];
        /**
         * Set the mails of an inbox
         * @description Replace sender name and templates of the mails of an inbox. A change applies within 5 seconds.
         */
        put: operations["set_email"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List notifications
         * @description List the user's notifications, newest first, with the counts. Pages never repeat a notification.
         */
        get: operations["list_notifications"];
        put?: never;
        /**
         * Send a notification
         * @description Send a notification to up to 100,000 users. Once committed, a job delivers it to each of them.
         *
         *     A retry with the same `Idempotency-Key` returns the first answer with status 200.
         */
        post: operations["send_notification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/notifications/{notification}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Recall a notification
         * @description Hide a notification from all recipients at once.
         *
         *     A job removes it from their counts. A recalled broadcast leaves the counts within a second.
         */
        delete: operations["redact_notification"];
        options?: never;
        head?: never;
        /**
         * Change the content of a notification
         * @description Replace the message of a notification for all recipients at once. Whether they have read it does not change.
         *
         *     A job notifies connected devices.
         */
        patch: operations["amend_notification"];
        trace?: never;
    };
    "/v1/inboxes/{inbox}/notifications/{notification}/recipients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List recipients of a notification
         * @description List the recipients in the order of the request, 100 per page.
         *
         *     For each recipient: when it was delivered, when it was read, and when a recall removed it.
         */
        get: operations["list_recipients"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/notifications/{notification}/users/{user}/pushes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain push notifications of an inbox
         * @description List what happened to the push notifications of a user's notification in the last 7 days.
         *
         *     The list is empty if the user has no registered device, or the tenant has no push provider.
         */
        get: operations["list_notification_pushes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get your preferences of an inbox
         * @description Get the channels that the user's notifications take, for each category of the inbox.
         */
        get: operations["get_preferences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change your preferences of an inbox
         * @description Switch channels on or off, for all categories or single ones. Choices that are not given stay as they are.
         *
         *     A change applies to notifications that are delivered afterwards, and to all broadcasts.
         */
        patch: operations["change_preferences"];
        trace?: never;
    };
    "/v1/inboxes/{inbox}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark notifications as read
         * @description Mark notifications as read: by `ids`, or all up to a time. Later notifications stay unread.
         */
        post: operations["mark_notifications_read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore notifications from the archive
         * @description Move notifications back to the list. They keep their read state.
         */
        post: operations["restore_notifications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/seen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark notifications as seen
         * @description Mark all current notifications as seen, for example when the user opens the inbox. Sets `unseen` to 0.
         */
        post: operations["mark_notifications_seen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/sent/{host_system_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find a notification by your own id
         * @description Find a notification by its `host_system_id`. It must have been sent with `is_unique`.
         */
        get: operations["find_notification"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/unread": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark notifications as unread
         * @description Mark notifications as unread.
         */
        post: operations["mark_notifications_unread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/users/{user}/emails": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the mails to a user
         * @description List what happened to the mails of a user's notifications: sent, skipped and why, tried again, or failed.
         */
        get: operations["list_user_emails"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/users/{user}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain a user's counts
         * @description List a user's notifications with the reason why each one is or is not counted as unread.
         */
        get: operations["explain_counts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inboxes/{inbox}/users/{user}/preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user's preferences
         * @description Get the channels that a user's notifications take, for each category of the inbox.
         */
        get: operations["get_user_preferences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a user's preferences
         * @description Switch channels of a user on or off, for example to import choices from another system.
         */
        patch: operations["change_user_preferences"];
        trace?: never;
    };
    "/v1/invites": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List invites
         * @description List the user's invites, by chat id.
         */
        get: operations["list_invites"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invites/{chat}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Decline an invite
         * @description Delete an invite.
         */
        delete: operations["decline_invite"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invites/{chat}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an invite
         * @description Join the group of an invite. A member causes no error.
         */
        post: operations["accept_invite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs
         * @description List the jobs of the tenant, newest first.
         */
        get: operations["list_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a job
         * @description Get the state and progress of a job.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description Cancel a job. Completed chunks are not undone.
         */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a job
         * @description Pause a job. Chunks in progress are completed.
         */
        post: operations["pause_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a job
         * @description Resume a paused job.
         */
        post: operations["resume_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login/phone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Request a login code
         * @description Send a one-time code to a phone number by SMS. The answer is the same for known and unknown numbers.
         */
        post: operations["request_code"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login/phone/redeem": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in with a code
         * @description Log a device in with a one-time code. A code is valid for one login, five attempts and ten minutes.
         *
         *     The same error is returned for a wrong, used or expired code.
         */
        post: operations["redeem_code"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh tokens
         * @description Exchange a refresh token for a new access token and a new refresh token.
         */
        post: operations["refresh_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get your own profile
         * @description Get the user's own profile. A user without a stored profile has only an id.
         */
        get: operations["get_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update your own profile
         * @description Update the user's own profile. Fields that are not given keep their values; `null` removes a value.
         */
        patch: operations["update_me"];
        trace?: never;
    };
    "/v1/me/badge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the badge
         * @description Get the number for the app's icon. Push notifications contain the same number.
         */
        get: operations["get_badge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/push-preferences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get push preferences
         * @description Get the user's preferences for push notifications.
         */
        get: operations["get_push_preferences"];
        /**
         * Set push preferences
         * @description Set the user's preferences: which messages notify, the time zone, and quiet hours.
         */
        put: operations["set_push_preferences"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a message
         * @description Get a message by its id, with its delivery status.
         */
        get: operations["get_message"];
        put?: never;
        post?: never;
        /**
         * Redact a message
         * @description Delete the content of a message for all members. The entry and its sequence remain in the log.
         */
        delete: operations["redact_message"];
        options?: never;
        head?: never;
        /**
         * Edit a message
         * @description Replace the whole content of a message. Only its sender can edit it.
         */
        patch: operations["edit_message"];
        trace?: never;
    };
    "/v1/messages/{message}/attachments/{upload}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an attachment
         * @description Get URLs of a file of a message that the user may read. Others than the sender wait until it was processed.
         */
        get: operations["get_attachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message}/link-preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the preview of a link
         * @description Get title, description and picture of the first link of a message that the user may read.
         *
         *     The media worker fetches the page once for the tenant. Only tenants that allow it have previews.
         */
        get: operations["get_link_preview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message}/pushes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain push notifications
         * @description List what happened to the push notifications of a message in the last 7 days, with the providers' answers.
         *
         *     Requires an API key with the scope `users`.
         */
        get: operations["list_pushes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message}/reactions/{emoji}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Add a reaction
         * @description Add the user's reaction to a message.
         */
        put: operations["add_reaction"];
        post?: never;
        /**
         * Remove a reaction
         * @description Remove the user's reaction from a message.
         */
        delete: operations["remove_reaction"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a message
         * @description Report a message to the tenant's moderators. The user must be able to read it. A second report changes nothing.
         */
        post: operations["report_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the delivery status of a message
         * @description Get the status of a message, with the members who have received and read it.
         */
        get: operations["get_message_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/push/web-push-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the key for browsers
         * @description Get the public key that browsers subscribe with. Send it as `server_key` when you register the subscription.
         */
        get: operations["get_web_push_key"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the review queue
         * @description List reported messages and users: open ones first, oldest first, then decided ones, newest first.
         *
         *     Reviews appear within seconds. Requires an API key with the scope `moderation`.
         */
        get: operations["list_reviews"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a review
         * @description Get a review with its reports. Requires an API key with the scope `moderation`.
         */
        get: operations["get_review"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide a review
         * @description Record a decision and carry it out. The same decision again returns the same review.
         *
         *     Another decision is refused with `review_decided`. If the action is not possible, the review is open again. Requires
         *     an API key with the scope `moderation`.
         */
        post: operations["decide_review"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search messages
         * @description Find messages that the user may read, newest first.
         *
         *     New messages are found after some seconds. A message that was edited, redacted or has expired is never found by its
         *     former words.
         */
        get: operations["search_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/segments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List segments
         * @description List the segments of the tenant, by name.
         */
        get: operations["list_segments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/segments/{segment}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a segment
         * @description Get the definition of a segment.
         */
        get: operations["get_segment"];
        /**
         * Create or replace a segment
         * @description Define a segment by a predicate. Every process applies the change within five seconds, also to live broadcasts.
         */
        put: operations["set_segment"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/segments/{segment}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Activate a version of a list
         * @description Make a version of a list the active one, atomically for all its users. Activate the previous one to go back.
         */
        post: operations["activate_segment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/segments/{segment}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload users of a list
         * @description Upload users to a new version of a list. The version has no effect until it is activated.
         */
        post: operations["upload_segment_users"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions
         * @description List the user's active sessions, oldest first.
         */
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        /**
         * End all sessions
         * @description Log all devices of the user out, including the calling one.
         */
        delete: operations["end_sessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End a session
         * @description Log a device out. A session that does not exist causes no error.
         */
        delete: operations["end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start an upload
         * @description Start to upload a file for one chat. The bucket accepts only bytes with this size and checksum.
         *
         *     Send a small file with the request `put`. Divide a larger one into parts of `part_bytes`, and get a request for each.
         *     Then complete the upload, and send a message with its id.
         */
        post: operations["start_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/uploads/{upload}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an upload
         * @description Get an upload of the user. `received` lists the parts that need not be sent again.
         */
        get: operations["get_upload"];
        put?: never;
        post?: never;
        /**
         * Delete an upload
         * @description Delete an upload that no message refers to.
         */
        delete: operations["delete_upload"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/uploads/{upload}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete an upload
         * @description Complete an upload, so that a message can refer to it. A media worker processes the file.
         *
         *     A retry returns the present state.
         */
        post: operations["complete_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/uploads/{upload}/parts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get requests for parts
         * @description Get a request for each of these parts. Parts can be sent in any order, and again.
         */
        post: operations["sign_parts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user-search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find a user by phone number
         * @description Find the user with exactly this phone number. The tenant must allow it (`tidings tenant set --find-by-phone`).
         *
         *     Returns the same error for an unused number, for a user who has opted out (`phone_search`), and for a suspended
         *     user. Each look-up counts as 20 requests, and as one of the user's daily look-ups.
         */
        post: operations["find_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List users by id
         * @description Get up to 100 users by id. Users that do not exist are omitted.
         */
        get: operations["list_users"];
        put?: never;
        /**
         * Create a user
         * @description Create a user. Requires an API key with the scope `users`.
         */
        post: operations["create_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user
         * @description Get a user of the tenant. The phone number is shown only to the user and to the tenant's server.
         */
        get: operations["get_user"];
        put?: never;
        post?: never;
        /**
         * Erase a user
         * @description Erase a user permanently. Requires an API key with the scope `users`.
         *
         *     The user's credentials are refused within a minute, and the id cannot be used again. A job destroys their keys, leaves
         *     their chats, empties their messages, replaces their id by a pseudonym, and deletes their files, search documents,
         *     notifications and profile. It takes at least 8 minutes. A second request returns the same erasure.
         *
         *     If the tenant requires a second approver, nothing is erased until another API key or an operator approves the request.
         */
        delete: operations["erase_user"];
        options?: never;
        head?: never;
        /**
         * Update a user
         * @description Update a user's profile. Requires an API key with the scope `users`.
         */
        patch: operations["update_user"];
        trace?: never;
    };
    "/v1/users/{user}/erasure": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the erasure of a user
         * @description Get how far the erasure of a user is. Requires an API key with the scope `users`.
         */
        get: operations["get_erasure"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/erasure/decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve or reject the erasure of a user
         * @description Approve or reject a request for an erasure. Requires an API key with the scope `users`.
         *
         *     The API key that requested the erasure cannot approve it (`forbidden`). After a decision, or 7 days after the request,
         *     another one is refused with `no_change`.
         */
        post: operations["decide_erasure"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the export of a user
         * @description Get the last export of a user, and a URL of its archive when it is ready. Requires an API key with the scope `users`.
         */
        get: operations["get_export"];
        put?: never;
        /**
         * Export a user
         * @description Export all data that a user can read. Requires an API key with the scope `users`.
         *
         *     A job writes a ZIP file of web pages, JSON files and attachments. While it runs, a second request returns the same
         *     export. Later, a request starts a new export, which replaces the archive of the one before.
         */
        post: operations["export_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/presence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user's presence
         * @description Get the presence of a user who shares a chat with the caller.
         *
         *     The answer is `offline`, without a last-seen time, for all other users, for users who have blocked the caller or
         *     hide their presence, and for users who do not exist.
         */
        get: operations["get_presence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user's profile
         * @description Get the attributes of a user that segments select by.
         */
        get: operations["get_profile"];
        /**
         * Replace a user's profile
         * @description Set the attributes of a user that segments select by.
         */
        put: operations["set_profile"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a user
         * @description Report a user to the tenant's moderators. A second report changes nothing.
         */
        post: operations["report_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a user's sessions
         * @description List the active sessions of a user. Requires an API key with the scope `users`.
         */
        get: operations["list_user_sessions"];
        put?: never;
        post?: never;
        /**
         * End a user's sessions
         * @description End all sessions of a user, and refuse tokens that your server issued before now (`iat`).
         *
         *     Requires an API key with the scope `users`. The user's connections are closed with 4506. It takes effect in all
         *     processes within 10 seconds.
         */
        delete: operations["end_user_sessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user}/suspension": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Suspend a user
         * @description Refuse all credentials of a user with `forbidden`. Requires an API key with the scope `users`.
         *
         *     The user's connections are closed with 4507. It takes effect in all processes within 10 seconds.
         */
        put: operations["suspend_user"];
        post?: never;
        /**
         * Lift a suspension
         * @description Accept the credentials of a suspended user again. Requires an API key with the scope `users`.
         */
        delete: operations["unsuspend_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook endpoints
         * @description List the tenant's endpoints, oldest first.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Create a webhook endpoint
         * @description Create an endpoint. It receives events from up to ten seconds later. The secret is not shown again.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a webhook endpoint
         * @description Get an endpoint, without its secret.
         */
        get: operations["get_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description Delete an endpoint. Events that wait for it are dropped.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook endpoint
         * @description Change an endpoint, or enable it again. Workers use the change within ten seconds.
         */
        patch: operations["update_webhook"];
        trace?: never;
    };
    "/v1/webhooks/{endpoint}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries
         * @description List the attempts of the last seven days, newest first.
         */
        get: operations["list_webhook_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{endpoint}/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List waiting events
         * @description List what waits for the endpoint, and when the next attempt is.
         */
        get: operations["list_webhook_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{endpoint}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send past events again
         * @description Send all events since a time again. They have the same ids, and may arrive after newer events of their chat.
         */
        post: operations["replay_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{endpoint}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry waiting events now
         * @description Make the next attempt of everything that waits for the endpoint within seconds.
         */
        post: operations["retry_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{endpoint}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the secret of a webhook endpoint
         * @description Create a new secret. Events have a signature of the former secret too, for `overlap_seconds`.
         */
        post: operations["rotate_webhook_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{endpoint}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Send an event of type `test` at once, and return the answer of the endpoint.
         */
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * ActivateVersionBody
         * @example {
         *       "version": 2
         *     }
         */
        ActivateVersionBody: {
            /**
             * Version
             * @description The newest version or the one before it.
             */
            version: number;
        };
        /**
         * AddMembersBody
         * @example {
         *       "client_message_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "users": [
         *         "dora"
         *       ]
         *     }
         */
        AddMembersBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /** Users */
            users: string[];
        };
        /**
         * AmendNotificationBody
         * @example {
         *       "message": {
         *         "title": "Corrected"
         *       }
         *     }
         */
        AmendNotificationBody: {
            /**
             * Message
             * @description The content, at most 16 KB. It must match the inbox's `payload_schema`.
             * @example {
             *       "body": "Check out our latest feature...",
             *       "title": "New Feature Available"
             *     }
             */
            message: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /**
         * ApnsBody
         * @description A device token of Apple's push service (APNs).
         */
        ApnsBody: {
            /**
             * Environment
             * @description `sandbox` for apps that Xcode installed.
             * @default production
             * @enum {string}
             */
            environment?: "production" | "sandbox";
            /**
             * Token
             * @description The device token, in hexadecimal.
             */
            token: string;
            /**
             * Topic
             * @description The bundle id of the app.
             * @example com.example.chat
             */
            topic: string;
        };
        /**
         * AttachmentResponse
         * @description A file of a message. `url` and `thumbnail_url` are valid until `expires_at`, and need no credential until then.
         * @example {
         *       "blurhash": "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
         *       "expires_at": "2026-11-18T02:16:21.957Z",
         *       "height": 768,
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "is_inline": true,
         *       "name": "beach.jpg",
         *       "size": 4,
         *       "thumbnail_url": "https://tidings-media.s3.eu-central-1.amazonaws.com/…",
         *       "type": "image/jpeg",
         *       "url": "https://tidings-media.s3.eu-central-1.amazonaws.com/…",
         *       "width": 1024
         *     }
         */
        AttachmentResponse: {
            /** Blurhash */
            blurhash?: string | null;
            /** Duration Ms */
            duration_ms?: number | null;
            /**
             * Expires At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            expires_at: string;
            /** Height */
            height?: number | null;
            /** Id */
            id: string;
            /**
             * Is Inline
             * @description Whether a browser shows the file instead of saving it.
             */
            is_inline: boolean;
            /** Name */
            name: string;
            /**
             * Size
             * @description Bytes of the file as it was uploaded.
             */
            size: number;
            /** Thumbnail Url */
            thumbnail_url?: string | null;
            /**
             * Type
             * @description The type of the bytes; `application/octet-stream` if it could be harmful.
             */
            type: string;
            /** Url */
            url: string;
            /** Width */
            width?: number | null;
        };
        /**
         * BadgeResponse
         * @description The number on the app's icon, and what it is the sum of.
         * @example {
         *       "badge": 5,
         *       "chats": 2,
         *       "messages": 3,
         *       "notifications": 2
         *     }
         */
        BadgeResponse: {
            /**
             * Badge
             * @description Unread messages or chats, as the tenant chooses, plus unread notifications.
             */
            badge: number;
            /**
             * Chats
             * @description Chats with unread messages.
             */
            chats: number;
            /**
             * Messages
             * @description Unread messages in all chats.
             */
            messages: number;
            /**
             * Notifications
             * @description Unread notifications in all inboxes.
             */
            notifications: number;
        };
        /**
         * BanResponse
         * @example {
         *       "reason": "spam",
         *       "until": "2026-12-01T00:00:00.000Z",
         *       "user": "ben"
         *     }
         */
        BanResponse: {
            /** Reason */
            reason?: string | null;
            /** Until */
            until?: string | null;
            /** User */
            user: string;
        };
        /**
         * BansResponse
         * @description Bans by user id. A page with a `cursor` is not the last one, also if it is empty.
         * @example {
         *       "bans": [
         *         {
         *           "reason": "spam",
         *           "until": "2026-12-01T00:00:00.000Z",
         *           "user": "ben"
         *         }
         *       ]
         *     }
         */
        BansResponse: {
            /** Bans */
            bans: components["schemas"]["BanResponse"][];
            /** Cursor */
            cursor?: string | null;
        };
        /**
         * BeforeSendBody
         * @description The before-send hook. It receives each message and each edit before they are stored.
         * @example {
         *       "on_failure": "allow",
         *       "timeout_ms": 1000,
         *       "url": "https://app.example/moderate"
         *     }
         */
        BeforeSendBody: {
            /**
             * On Failure
             * @description What happens to a message if the hook does not answer in time.
             * @default allow
             * @enum {string}
             */
            on_failure?: "allow" | "refuse";
            /**
             * Timeout Ms
             * @description How long a sender waits for the hook.
             * @default 1000
             */
            timeout_ms?: number;
            /**
             * Url
             * @description Receives a POST for each event. `https`, at a public address.
             * @example https://app.example/tidings
             */
            url: string;
        };
        /**
         * BeforeSendResponse
         * @example {
         *       "endpoint": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "on_failure": "allow",
         *       "timeout_ms": 1000,
         *       "url": "https://app.example/moderate"
         *     }
         */
        BeforeSendResponse: {
            /**
             * Endpoint
             * @description The endpoint with the URL and the secret.
             */
            endpoint: string;
            /**
             * On Failure
             * @enum {string}
             */
            on_failure: "allow" | "refuse";
            /**
             * Secret
             * @description Only in the answer that creates the hook.
             */
            secret?: string | null;
            /** Timeout Ms */
            timeout_ms: number;
            /** Url */
            url: string;
        };
        /**
         * BlocksResponse
         * @description Blocked users, ordered by id.
         * @example {
         *       "users": [
         *         "dora"
         *       ]
         *     }
         */
        BlocksResponse: {
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /** Users */
            users: string[];
        };
        /**
         * BounceBody
         * @description A report that a mail did not arrive, or was marked as spam.
         * @example {
         *       "kind": "bounce",
         *       "message_id": "<WyJkZXYi.kM2cVZ8m@example.com>"
         *     }
         */
        BounceBody: {
            /**
             * Kind
             * @description `bounce`: the address does not exist. Do not report temporary failures.
             * @default bounce
             * @enum {string}
             */
            kind?: "bounce" | "complaint";
            /**
             * Message Id
             * @description The header `Message-ID` of the mail.
             */
            message_id: string;
        };
        /**
         * BouncedUserResponse
         * @example {
         *       "user_id": "anna"
         *     }
         */
        BouncedUserResponse: {
            /** User Id */
            user_id: string;
        };
        /**
         * BroadcastCreatedResponse
         * @description A committed broadcast. Without a `sequence` it has not started yet. `jobs` are the planned steps.
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "jobs": [],
         *       "sequence": 7
         *     }
         */
        BroadcastCreatedResponse: {
            /** Id */
            id: string;
            /** Jobs */
            jobs: string[];
            /**
             * Sequence
             * @description Pass it as `at_least` to get a read that includes this broadcast.
             */
            sequence?: number | null;
        };
        /**
         * BroadcastResponse
         * @description The progress of a broadcast. After a recall, no one sees or counts it from `hidden_by` on.
         * @example {
         *       "broadcasts_up_to": 7,
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "is_halted": false,
         *       "percent": 100,
         *       "sequence": 7,
         *       "visible_from": "2026-11-15T02:11:21.957Z"
         *     }
         * @example {
         *       "broadcasts_up_to": 7,
         *       "hidden_by": "2026-11-15T02:11:22.957Z",
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "is_halted": false,
         *       "percent": 100,
         *       "redacted_at": "2026-11-15T02:11:21.957Z",
         *       "sequence": 7,
         *       "visible_from": "2026-11-15T02:11:21.957Z"
         *     }
         */
        BroadcastResponse: {
            /**
             * Broadcasts Up To
             * @description The last sequence of the inbox's broadcast log.
             */
            broadcasts_up_to: number;
            /** Expires At */
            expires_at?: string | null;
            /**
             * Hidden By
             * @description `redacted_at` plus the second for which caches may be stale.
             */
            hidden_by?: string | null;
            /** Id */
            id: string;
            /** Is Halted */
            is_halted: boolean;
            /**
             * Percent
             * @description Share of the users who see it, in percent. 0 if it has not started.
             */
            percent: number;
            /** Redacted At */
            redacted_at?: string | null;
            /** Segment */
            segment?: string | null;
            /** Sequence */
            sequence?: number | null;
            /** Visible From */
            visible_from?: string | null;
        };
        /**
         * CategoryPreferencesResponse
         * @description The channels of a category: the result of all settings, and the user's own choices.
         */
        CategoryPreferencesResponse: {
            channels: components["schemas"]["ChannelsResponse"];
            /** @description The user's own choices for this category. */
            chosen: components["schemas"]["ChannelChoicesBody"];
            /**
             * Is Critical
             * @description The user cannot change the channels.
             */
            is_critical: boolean;
            /** Name */
            name: string;
        };
        /**
         * CategorySettingsBody
         * @description Settings of a category.
         * @example {
         *       "channels": {
         *         "email": true
         *       },
         *       "is_critical": true
         *     }
         */
        CategorySettingsBody: {
            channels?: components["schemas"]["ChannelChoicesBody"];
            digest?: components["schemas"]["DigestBody"] | null;
            /**
             * Is Critical
             * @description Users cannot switch off notifications of this category.
             * @default false
             */
            is_critical?: boolean;
            throttle?: components["schemas"]["ThrottleBody"] | null;
        };
        /**
         * ChangePreferencesBody
         * @description Choices to change. `null` removes a choice, so that the setting of the category or the inbox applies.
         * @example {
         *       "categories": {
         *         "news": {
         *           "push": false
         *         }
         *       },
         *       "channels": {
         *         "email": false
         *       }
         *     }
         */
        ChangePreferencesBody: {
            /**
             * Categories
             * @description For single categories.
             */
            categories?: {
                [key: string]: components["schemas"]["ChannelChoicesBody"];
            };
            /** @description For all categories. */
            channels?: components["schemas"]["ChannelChoicesBody"];
        };
        /**
         * ChangeRoleBody
         * @example {
         *       "role": "admin"
         *     }
         */
        ChangeRoleBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Role
             * @enum {string}
             */
            role: "admin" | "member";
        };
        /**
         * ChannelChoicesBody
         * @description Channels that are switched on or off. Another setting decides about channels that are not given.
         * @example {
         *       "email": true
         *     }
         */
        ChannelChoicesBody: {
            /** Email */
            email?: boolean | null;
            /** Inbox */
            inbox?: boolean | null;
            /** Push */
            push?: boolean | null;
            /** Webhook */
            webhook?: boolean | null;
        };
        /**
         * ChannelsResponse
         * @description Whether each channel is on.
         */
        ChannelsResponse: {
            /** Email */
            email: boolean;
            /** Inbox */
            inbox: boolean;
            /** Push */
            push: boolean;
            /** Webhook */
            webhook: boolean;
        };
        /**
         * ChatCreatedResponse
         * @description A chat that was created, or that already existed.
         * @example {
         *       "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD"
         *     }
         */
        ChatCreatedResponse: {
            /** Id */
            id: string;
            /**
             * Job
             * @description The job that adds the other members of a group with many members.
             */
            job?: string | null;
        };
        /**
         * ChatListItemResponse
         * @description A chat in the chat list. `members` has some of the other members; in a direct chat, the other user.
         */
        ChatListItemResponse: {
            /**
             * Active At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            active_at: string;
            /** Delivered Sequence */
            delivered_sequence: number;
            /** Head Sequence */
            head_sequence: number;
            /** Id */
            id: string;
            /** Is Archived */
            is_archived: boolean;
            /** Is Member */
            is_member: boolean;
            /** Is Pinned */
            is_pinned: boolean;
            last?: components["schemas"]["LastMessageResponse"] | null;
            /** Member Count */
            member_count?: number | null;
            /** Members */
            members: string[];
            /**
             * Message Count
             * @description Messages in the chat up to `head_sequence`.
             */
            message_count: number;
            /** Muted Until */
            muted_until?: string | null;
            /** Name */
            name?: string | null;
            /** Notify */
            notify?: ("all" | "mentions" | "none") | null;
            /** Read Sequence */
            read_sequence: number;
            /**
             * Type
             * @enum {string}
             */
            type: "direct" | "group";
            /** Unread */
            unread: number;
        };
        /**
         * ChatListResponse
         * @description Chats of a user: pinned chats first, then by newest activity.
         * @example {
         *       "chats": [
         *         {
         *           "active_at": "2026-11-15T02:11:21.957Z",
         *           "delivered_sequence": 7,
         *           "head_sequence": 7,
         *           "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *           "is_archived": false,
         *           "is_member": true,
         *           "is_pinned": false,
         *           "last": {
         *             "at": "2026-11-15T02:11:21.957Z",
         *             "sender": "ben",
         *             "sequence": 7,
         *             "state": "active",
         *             "text": "Hey everyone!"
         *           },
         *           "member_count": 3,
         *           "members": [
         *             "ben",
         *             "cleo"
         *           ],
         *           "message_count": 6,
         *           "name": "Lunch",
         *           "read_sequence": 4,
         *           "type": "group",
         *           "unread": 3
         *         }
         *       ],
         *       "unread_chats": 1
         *     }
         */
        ChatListResponse: {
            /** Chats */
            chats: components["schemas"]["ChatListItemResponse"][];
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /**
             * Unread Chats
             * @description Number of chats with unread messages in the whole filtered list, not only on this page.
             */
            unread_chats: number;
        };
        /**
         * ChatResponse
         * @description A chat as a member sees it.
         * @example {
         *       "created_by": "anna",
         *       "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *       "member_count": 3,
         *       "message_count": 6,
         *       "name": "Lunch",
         *       "role": "owner",
         *       "type": "group"
         *     }
         */
        ChatResponse: {
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /**
             * Is Frozen
             * @description Only admins may send messages.
             * @default false
             */
            is_frozen?: boolean;
            /**
             * Is Muted
             * @description An admin or a moderator muted the caller.
             * @default false
             */
            is_muted?: boolean;
            /**
             * Join Rule
             * @description The users that may join without an admin.
             * @default closed
             * @enum {string}
             */
            join_rule?: "closed" | "link" | "open";
            /** @description The newest message, as in the chat list. */
            last?: components["schemas"]["LastMessageResponse"] | null;
            /**
             * May Send At
             * @description With slow mode: when the caller may send their next message.
             */
            may_send_at?: string | null;
            /** Member Count */
            member_count: number;
            /**
             * Message Count
             * @description Number of messages that delivery has processed.
             */
            message_count: number;
            /**
             * Muted Until
             * @description Absent: the mute has no end.
             */
            muted_until?: string | null;
            /** Name */
            name?: string | null;
            /**
             * Role
             * @description The caller's role.
             * @enum {string}
             */
            role: "owner" | "admin" | "member";
            /**
             * Slow Mode Seconds
             * @description Time between messages of one member. 0: none.
             * @default 0
             */
            slow_mode_seconds?: number;
            /**
             * Type
             * @enum {string}
             */
            type: "direct" | "group";
        };
        /**
         * ChatRulesBody
         * @description Rules of a group. Fields that are not given keep their values.
         * @example {
         *       "is_frozen": true
         *     }
         * @example {
         *       "slow_mode_seconds": 30
         *     }
         * @example {
         *       "join_rule": "link"
         *     }
         */
        ChatRulesBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Is Frozen
             * @description Only admins may send messages.
             */
            is_frozen?: boolean | null;
            /**
             * Join Rule
             * @description `closed`: admins add members. `link`: with the chat's link. `open`: everyone.
             */
            join_rule?: ("closed" | "link" | "open") | null;
            /**
             * Slow Mode Seconds
             * @description Time between messages of one member. 0: none.
             */
            slow_mode_seconds?: number | null;
        };
        /**
         * ChatSettingsBody
         * @description The user's own settings of a chat. Fields that are not given keep their values. Unmute with `null`.
         * @example {
         *       "is_pinned": true,
         *       "muted_until": "2026-12-31T00:00:00Z"
         *     }
         */
        ChatSettingsBody: {
            /** Is Archived */
            is_archived?: boolean | null;
            /** Is Pinned */
            is_pinned?: boolean | null;
            /**
             * Muted Until
             * @description A time with `Z` or an offset from UTC.
             */
            muted_until?: string | null;
            /**
             * Notify
             * @description The messages that cause a push notification. By default as in your preferences.
             */
            notify?: ("all" | "mentions" | "none") | null;
        };
        /**
         * Code
         * @description The error code, for programs. A code is never reused with another meaning.
         * @enum {string}
         */
        Code: "settings_invalid" | "engine_not_installed" | "engine_not_supported" | "engine_fetch_failed" | "engine_port_taken" | "engine_out_of_memory" | "engine_died" | "engine_not_ready" | "engine_unreachable" | "engines_busy" | "tables_drift" | "tables_destructive" | "tables_failed" | "epoch_stale" | "still_running" | "credential_invalid" | "credential_expired" | "rate_limited" | "user_not_found" | "user_exists" | "user_erased" | "phone_taken" | "phone_login_off" | "chat_not_found" | "chat_full" | "rejoin_limit_reached" | "request_invalid" | "request_too_large" | "request_too_slow" | "headers_too_large" | "endpoint_not_found" | "method_not_allowed" | "cursor_invalid" | "unknown_request" | "not_a_member" | "forbidden" | "blocked" | "chat_frozen" | "muted" | "slow_mode" | "banned" | "invite_not_found" | "review_not_found" | "review_decided" | "content_invalid" | "content_too_large" | "message_refused" | "message_not_found" | "inbox_not_found" | "notification_not_found" | "job_not_found" | "segment_not_found" | "webhook_not_found" | "push_not_configured" | "search_off" | "media_not_configured" | "upload_not_found" | "upload_incomplete" | "upload_attached" | "upload_processing" | "upload_refused" | "upload_too_large" | "storage_full" | "no_change" | "idempotency_conflict" | "position_ahead" | "position_too_old" | "write_conflict" | "decryption_failed" | "keys_unavailable" | "outcome_unknown" | "overloaded" | "internal" | "topics_drift" | "topics_destructive" | "topics_failed";
        /**
         * CodeSentResponse
         * @description A requested code. The answer is the same for known and unknown numbers.
         * @example {
         *       "challenge": "ORUGS4ZANFZSAYJAMNUGC3DMMV",
         *       "expires_at": "2026-11-15T02:11:21.957Z"
         *     }
         */
        CodeSentResponse: {
            /** Challenge */
            challenge: string;
            /**
             * Expires At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            expires_at: string;
        };
        /**
         * CompleteUploadBody
         * @example {}
         * @example {
         *       "parts": [
         *         {
         *           "number": 1,
         *           "sha256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
         *         }
         *       ]
         *     }
         */
        CompleteUploadBody: {
            /**
             * Parts
             * @description All parts of a file that was uploaded in parts.
             */
            parts?: components["schemas"]["PartBody"][];
        };
        /**
         * ContentRulesBody
         * @description Words and links that messages and edits must not contain. At most 8 KB.
         * @example {
         *       "domains": [
         *         {
         *           "action": "refuse",
         *           "text": "bad.example"
         *         }
         *       ],
         *       "words": [
         *         {
         *           "action": "mask",
         *           "text": "darn"
         *         }
         *       ]
         *     }
         */
        ContentRulesBody: {
            /** Domains */
            domains?: components["schemas"]["ListedDomainModel"][];
            /** Words */
            words?: components["schemas"]["ListedTermModel"][];
        };
        /** CountReasonResponse */
        CountReasonResponse: {
            /** Category */
            category?: string | null;
            /** Id */
            id: string;
            /** Is Counted */
            is_counted: boolean;
            /**
             * Since
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            since: string;
            /**
             * Why
             * @description The reason why it is or is not counted.
             * @enum {string}
             */
            why: "before_joining" | "not_targeted" | "channel_off" | "throttled" | "digested" | "redacted" | "expired" | "retention_over" | "archived" | "read" | "marked_all" | "marked_category" | "unread_again" | "delivered";
        };
        /**
         * CountsResponse
         * @description Exact unread counts at the time of the answer.
         * @example {
         *       "categories": {
         *         "news": 2
         *       },
         *       "next_change_at": "2026-11-15T02:11:21.957Z",
         *       "unread": 3,
         *       "unseen": 1
         *     }
         */
        CountsResponse: {
            /**
             * Broadcasts Up To
             * @description The last broadcast sequence in this answer. Pass it as `at_least` to other reads.
             */
            broadcasts_up_to?: number | null;
            /**
             * Categories
             * @description Unread notifications by category.
             * @example {
             *       "news": 2
             *     }
             */
            categories: {
                [key: string]: number;
            };
            /**
             * Next Change At
             * @description When the next counted notification expires. Read the counts again then.
             */
            next_change_at?: string | null;
            /** Unread */
            unread: number;
            /**
             * Unseen
             * @description Unread notifications that arrived since the user last opened the inbox.
             */
            unseen: number;
        };
        /**
         * CoveredRange
         * @description The range for which the page is complete: sequences above `after`, up to and including `up_to`.
         */
        CoveredRange: {
            /** After */
            after: number;
            /** Up To */
            up_to: number;
        };
        /**
         * CreateBroadcastBody
         * @description A broadcast to everyone in an inbox, or to a segment.
         * @example {
         *       "message": {
         *         "title": "We are back"
         *       }
         *     }
         * @example {
         *       "message": {
         *         "title": "Try it"
         *       },
         *       "ramp": [
         *         {
         *           "percent": 5
         *         },
         *         {
         *           "after_s": 3600,
         *           "percent": 100
         *         }
         *       ],
         *       "segment": "pros",
         *       "starts_at": "2026-12-01T08:00:00Z"
         *     }
         */
        CreateBroadcastBody: {
            /** Category */
            category?: string | null;
            /**
             * Expires At
             * @description At most 90 days after the start.
             */
            expires_at?: string | null;
            /** Host System Id */
            host_system_id?: string | null;
            /**
             * Is Critical
             * @description Ignore the preferences of users. Only the tenant's settings choose the channels.
             * @default false
             */
            is_critical?: boolean;
            /**
             * Is Unique
             * @description Refuse a second notification with this `host_system_id` in the inbox.
             * @default false
             */
            is_unique?: boolean;
            /** Label */
            label?: string | null;
            /**
             * Message
             * @description The content, at most 16 KB. It must match the inbox's `payload_schema`.
             * @example {
             *       "body": "Check out our latest feature...",
             *       "title": "New Feature Available"
             *     }
             */
            message: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Ramp */
            ramp?: components["schemas"]["RampStep"][] | null;
            /** Segment */
            segment?: string | null;
            /** Sender */
            sender?: string | null;
            /** Starts At */
            starts_at?: string | null;
            /**
             * Track Reads
             * @description Record the users who read it, with one write per reader.
             * @default false
             */
            track_reads?: boolean;
        };
        /**
         * CreateDirectBody
         * @example {
         *       "type": "direct",
         *       "user": "ben"
         *     }
         */
        CreateDirectBody: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "direct";
            /**
             * User
             * @description A user id.
             * @example anna
             */
            user: string;
        };
        /**
         * CreateGroupBody
         * @example {
         *       "client_message_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "members": [
         *         "ben",
         *         "cleo"
         *       ],
         *       "name": "Lunch",
         *       "type": "group"
         *     }
         */
        CreateGroupBody: {
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Members
             * @description Members in addition to the caller, who becomes the owner.
             */
            members?: string[];
            /**
             * Name
             * @description The name that users see.
             * @example Lunch
             */
            name: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "group";
        };
        /**
         * CreateUserBody
         * @example {
         *       "display_name": "Anna",
         *       "id": "anna"
         *     }
         */
        CreateUserBody: {
            /** Avatar Uri */
            avatar_uri?: string | null;
            /** Display Name */
            display_name?: string | null;
            /** Email */
            email?: string | null;
            /**
             * Id
             * @description An id of your choice. Without it, Tidings generates one.
             */
            id?: string | null;
            /** Locale */
            locale?: string | null;
            /** Phone */
            phone?: string | null;
        };
        /**
         * CreateWebhookBody
         * @description A new endpoint. Without `events`, it receives all but `message.read`, `push.finished` and `presence.changed`.
         * @example {
         *       "events": [
         *         "message.created"
         *       ],
         *       "url": "https://app.example/tidings"
         *     }
         */
        CreateWebhookBody: {
            /**
             * Description
             * @default
             */
            description?: string;
            /** Events */
            events?: components["schemas"]["EventTypeName"][] | null;
            /**
             * Url
             * @description Receives a POST for each event. `https`, at a public address.
             * @example https://app.example/tidings
             */
            url: string;
        };
        /**
         * DecisionBody
         * @description What happens to the message or its author.
         * @example {
         *       "action": "ban",
         *       "reason": "spam",
         *       "until": "2999-12-01T00:00:00Z"
         *     }
         * @example {
         *       "action": "dismiss"
         *     }
         */
        DecisionBody: {
            /**
             * Action
             * @description `redact`: delete the content of the message. `mute`, `ban`: its author in its group. `suspend`: the author or the reported user everywhere.
             * @enum {string}
             */
            action: "dismiss" | "redact" | "mute" | "ban" | "suspend";
            /** Reason */
            reason?: string | null;
            /**
             * Until
             * @description The end of a mute or ban. Absent: it has no end.
             */
            until?: string | null;
        };
        /**
         * DecisionResponse
         * @example {
         *       "action": "ban",
         *       "at": "2026-11-15T02:12:00.000Z",
         *       "by": "api_key:01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "reason": "spam",
         *       "until": "2026-12-01T00:00:00.000Z"
         *     }
         */
        DecisionResponse: {
            /** Action */
            action: string;
            /**
             * At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            at: string;
            /** By */
            by: string;
            /** Reason */
            reason?: string | null;
            /** Until */
            until?: string | null;
        };
        /**
         * DeliveriesResponse
         * @example {
         *       "cursor": "kM2cVZ8m0vJr1mJ4yq0O2WJlbg",
         *       "deliveries": [
         *         {
         *           "at": "2026-11-15T02:11:21.957Z",
         *           "attempt": 1,
         *           "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *           "event": "evt_0123456789abcdef0123456789abcdef",
         *           "latency_ms": 12,
         *           "next_at": "2026-11-15T02:11:21.957Z",
         *           "outcome": "retrying",
         *           "reason": "the endpoint answered 503",
         *           "sequence": 7,
         *           "status": 503,
         *           "type": "message.created"
         *         }
         *       ]
         *     }
         */
        DeliveriesResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Deliveries */
            deliveries: components["schemas"]["DeliveryResponse"][];
        };
        /**
         * DeliveryResponse
         * @description One attempt. After `retrying`, another follows at `next_at`; after `failed`, none.
         * @example {
         *       "at": "2026-11-15T02:11:21.957Z",
         *       "attempt": 1,
         *       "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *       "event": "evt_0123456789abcdef0123456789abcdef",
         *       "latency_ms": 12,
         *       "next_at": "2026-11-15T02:11:21.957Z",
         *       "outcome": "retrying",
         *       "reason": "the endpoint answered 503",
         *       "sequence": 7,
         *       "status": 503,
         *       "type": "message.created"
         *     }
         */
        DeliveryResponse: {
            /**
             * At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            at: string;
            /** Attempt */
            attempt: number;
            /** Chat */
            chat?: string | null;
            /** Event */
            event: string;
            /** Latency Ms */
            latency_ms: number;
            /** Next At */
            next_at?: string | null;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "delivered" | "retrying" | "failed";
            /** Reason */
            reason?: string | null;
            /** Sequence */
            sequence?: number | null;
            /**
             * Status
             * @description The HTTP status of the answer, if one arrived.
             */
            status?: number | null;
            /** Type */
            type: string;
        };
        /**
         * DeviceBody
         * @description An installation of a client.
         */
        DeviceBody: {
            /** Id */
            id: string;
            /**
             * Name
             * @description Shown in the user's list of sessions.
             * @default
             */
            name?: string;
        };
        /**
         * DigestBody
         * @description Show notifications with the same `digest_key` as one, unread once. Critical notifications are not included.
         * @example {
         *       "window_s": 3600
         *     }
         */
        DigestBody: {
            /**
             * Window S
             * @description How long the first notification takes others in, in seconds. It ends when the user reads it.
             */
            window_s: number;
        };
        /**
         * DirectoryResponse
         * @example {
         *       "cursor": "kM2cVZ8m",
         *       "users": [
         *         {
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "display_name": "Anna",
         *           "id": "anna"
         *         }
         *       ]
         *     }
         */
        DirectoryResponse: {
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /** Users */
            users: components["schemas"]["UserResponse"][];
        };
        /**
         * EditMessageBody
         * @example {
         *       "text": "Hello, all!"
         *     }
         */
        EditMessageBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /** Data */
            data?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** Mentions */
            mentions?: string[];
            /**
             * Reply To
             * @description The sequence of a message in the same chat.
             */
            reply_to?: number | null;
            /**
             * Text
             * @default
             * @example Hello!
             */
            text?: string;
        };
        /**
         * EntryResponse
         * @description An entry of a chat's log. Its fields depend on its kind.
         * @example {
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *       "kind": "message",
         *       "mentions": [
         *         "ben"
         *       ],
         *       "reactions": [
         *         {
         *           "count": 2,
         *           "emoji": "👍",
         *           "users": [
         *             "ben",
         *             "cleo"
         *           ]
         *         }
         *       ],
         *       "sender": "anna",
         *       "sequence": 7,
         *       "state": "active",
         *       "status": "DELIVERED",
         *       "text": "Hello!"
         *     }
         */
        EntryResponse: {
            /**
             * Attachments
             * @description Ids of uploads.
             */
            attachments?: string[] | null;
            /**
             * Client Message Id
             * @description Only on the caller's own entries.
             */
            client_message_id?: string | null;
            /** Content Type */
            content_type?: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            /** Data */
            data?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** Edited At */
            edited_at?: string | null;
            /**
             * Emoji
             * @description For a reaction: `+` or `-`, then the emoji.
             */
            emoji?: string | null;
            /** Expires At */
            expires_at?: string | null;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "create" | "message" | "edit" | "redaction" | "reaction" | "join" | "leave" | "role" | "rename" | "block" | "mute" | "ban" | "rules" | "lost";
            /** Member Count */
            member_count?: number | null;
            /** Mentions */
            mentions?: string[] | null;
            /** Name */
            name?: string | null;
            /** Reactions */
            reactions?: components["schemas"]["ReactionResponse"][] | null;
            /**
             * Reason
             * @description For a mute or ban.
             */
            reason?: string | null;
            /** Redacted At */
            redacted_at?: string | null;
            /**
             * Refers To
             * @description For an edit, redaction or reaction: the sequence of the message.
             */
            refers_to?: number | null;
            /** Reply To */
            reply_to?: number | null;
            /** Role */
            role?: string | null;
            rules?: components["schemas"]["EntryRulesResponse"] | null;
            /** Sender */
            sender: string;
            /** Sequence */
            sequence: number;
            /**
             * State
             * @description Whether the content of a message is available. `archived`: operators of the tenant can read it.
             * @enum {string}
             */
            state: "active" | "redacted" | "expired" | "archived" | "erased" | "unreadable";
            /**
             * Status
             * @description Delivery status of a message. Absent in large chats.
             */
            status?: ("SENT" | "DELIVERED" | "READ") | null;
            /** Text */
            text?: string | null;
            /**
             * Until
             * @description For a mute or ban: when it ends.
             */
            until?: string | null;
            /**
             * Users
             * @description Users who joined, left or changed their role.
             */
            users?: string[] | null;
        };
        /**
         * EntryRulesResponse
         * @description The rules of a chat after an entry of the kind `rules`.
         */
        EntryRulesResponse: {
            /** Is Frozen */
            is_frozen: boolean;
            /**
             * Join Rule
             * @enum {string}
             */
            join_rule: "closed" | "link" | "open";
            /**
             * Slow Mode Seconds
             * @description 0: no slow mode.
             */
            slow_mode_seconds: number;
        };
        /**
         * ErasureDecisionBody
         * @example {
         *       "action": "approve"
         *     }
         */
        ErasureDecisionBody: {
            /**
             * Action
             * @description The requester cannot approve their own request. A request is decided once.
             * @enum {string}
             */
            action: "approve" | "reject";
        };
        /**
         * ErasureResponse
         * @example {
         *       "counts": {
         *         "chats": 3,
         *         "messages": 214
         *       },
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "requested_at": "2026-11-15T02:11:21.957Z",
         *       "requested_by": "api_key:01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "state": "running",
         *       "step": "chats",
         *       "user": "anna"
         *     }
         */
        ErasureResponse: {
            /**
             * Certificate
             * @description A signed certificate (JWS, Ed25519) with times and counts, from the state `erased` on. It is replaced when the state is `final`. `tidings certificate verify` verifies it offline.
             */
            certificate?: string | null;
            /**
             * Counts
             * @description The number of items that were erased so far, by kind.
             */
            counts: {
                [key: string]: number;
            };
            /** Decided At */
            decided_at?: string | null;
            /**
             * Decided By
             * @description The second approver, who approved or rejected the request.
             */
            decided_by?: string | null;
            /**
             * Expires At
             * @description When a request that waits for an approval expires, after 7 days.
             */
            expires_at?: string | null;
            /**
             * Id
             * @description The id of the erasure, and of the job that runs it.
             */
            id: string;
            /**
             * Requested At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            requested_at: string;
            /**
             * Requested By
             * @description The API key or the operator that requested the erasure.
             */
            requested_by: string;
            /** @description `awaiting_approval`: nothing is erased until another API key or an operator approves it. `erased`: the user is erased in all tables, files and indexes. `final`: no backup has a key of the user either, 8 days later. */
            state: components["schemas"]["ErasureState"];
            /**
             * Step
             * @description The step that the erasure has reached.
             */
            step: string;
            /**
             * User
             * @description A user id.
             * @example anna
             */
            user: string;
        };
        /** @enum {string} */
        ErasureState: "awaiting_approval" | "rejected" | "expired" | "running" | "erased" | "final";
        /**
         * EstimateBody
         * @example {
         *       "segment": "pros"
         *     }
         */
        EstimateBody: {
            /**
             * Percent
             * @description Share of the users who see it, in percent.
             * @default 100
             * @example 25
             */
            percent?: number;
            /** Segment */
            segment?: string | null;
        };
        /**
         * EstimateResponse
         * @description An estimate from one of 256 partitions of the directory. `low` and `high` are a 95 % confidence interval.
         * @example {
         *       "copied_dollars": 0.064,
         *       "copied_write_units": 102400,
         *       "dollars": 0.000004,
         *       "high": 30618,
         *       "low": 20582,
         *       "reach": 25600,
         *       "sampled": 400,
         *       "write_units": 6
         *     }
         */
        EstimateResponse: {
            /** Copied Dollars */
            copied_dollars: number;
            /**
             * Copied Write Units
             * @description Write units of one copy per user, for comparison.
             */
            copied_write_units: number;
            /** Dollars */
            dollars: number;
            /** High */
            high: number;
            /** Low */
            low: number;
            /**
             * Reach
             * @description Estimated number of users with a profile who would see it.
             */
            reach: number;
            /**
             * Sampled
             * @description Number of profiles that were read.
             */
            sampled: number;
            /**
             * Write Units
             * @description DynamoDB write units of the broadcast, independent of its reach.
             */
            write_units: number;
        };
        /** @enum {string} */
        EventTypeName: "message.created" | "message.edited" | "message.redacted" | "reaction.changed" | "member.joined" | "member.left" | "member.role_changed" | "member.blocked" | "member.muted" | "member.banned" | "chat.rules_changed" | "chat.created" | "chat.renamed" | "entry.lost" | "message.read" | "notification.delivered" | "notification.read" | "job.ended" | "user.created" | "user.updated" | "user.suspended" | "user.unsuspended" | "report.created" | "push.finished" | "presence.changed" | "endpoint.disabled";
        /**
         * ExplainCountsResponse
         * @description A user's notifications, newest first, with the reason why each one is or is not counted.
         * @example {
         *       "counts": {
         *         "categories": {
         *           "news": 2
         *         },
         *         "next_change_at": "2026-11-15T02:11:21.957Z",
         *         "unread": 3,
         *         "unseen": 1
         *       },
         *       "notifications": [
         *         {
         *           "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "is_counted": true,
         *           "since": "2026-11-15T02:11:21.957Z",
         *           "why": "delivered"
         *         }
         *       ]
         *     }
         */
        ExplainCountsResponse: {
            counts: components["schemas"]["CountsResponse"];
            /** Cursor */
            cursor?: string | null;
            /** Notifications */
            notifications: components["schemas"]["CountReasonResponse"][];
        };
        /** ExportCountsResponse */
        ExportCountsResponse: {
            /** Attachments */
            attachments: number;
            /** Chats */
            chats: number;
            /** Entries */
            entries: number;
            /** Notifications */
            notifications: number;
        };
        /**
         * ExportResponse
         * @example {
         *       "counts": {
         *         "attachments": 5,
         *         "chats": 3,
         *         "entries": 214,
         *         "notifications": 12
         *       },
         *       "expires_at": "2026-11-22T02:11:21.957Z",
         *       "finished_at": "2026-11-15T02:11:24.102Z",
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "requested_at": "2026-11-15T02:11:21.957Z",
         *       "size": 4194304,
         *       "state": "ready",
         *       "url": "https://tidings-media.s3.eu-central-1.amazonaws.com/…",
         *       "url_expires_at": "2026-11-15T02:20:00.000Z",
         *       "user": "anna"
         *     }
         */
        ExportResponse: {
            /** @description Contents of the archive, or of its parts so far. */
            counts: components["schemas"]["ExportCountsResponse"];
            /**
             * Expires At
             * Format: date-time
             * @description When the archive is deleted, 7 days after the request.
             * @example 2026-11-15T02:11:21.957Z
             */
            expires_at: string;
            /**
             * Failure
             * @description Why the export failed: an error code, or `timed_out` after 6 days.
             */
            failure?: string | null;
            /** Finished At */
            finished_at?: string | null;
            /**
             * Id
             * @description The id of the export, and of the job that runs it.
             */
            id: string;
            /**
             * Requested At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            requested_at: string;
            /**
             * Size
             * @description Bytes of the archive.
             */
            size?: number | null;
            /**
             * State
             * @description `ready`: the archive can be downloaded. `expired`: it was deleted.
             * @enum {string}
             */
            state: "running" | "ready" | "failed" | "expired";
            /**
             * Url
             * @description Downloads the archive, a ZIP file, without further credentials.
             */
            url?: string | null;
            /**
             * Url Expires At
             * @description When the URL becomes invalid. Get the export again for another one.
             */
            url_expires_at?: string | null;
            /**
             * User
             * @description A user id.
             * @example anna
             */
            user: string;
        };
        /**
         * FcmBody
         * @description A registration token of Firebase Cloud Messaging (FCM).
         */
        FcmBody: {
            /** Token */
            token: string;
        };
        /**
         * FieldError
         * @description An invalid field of a request.
         */
        FieldError: {
            /**
             * Detail
             * @example String should have at most 64 characters
             */
            detail: string;
            /**
             * Location
             * @description The part of the request.
             * @enum {string}
             */
            location: "body" | "query" | "path" | "header" | "cookie";
            /**
             * Pointer
             * @description A JSON pointer to the field in that part.
             * @example /mentions/3
             */
            pointer: string;
        };
        /**
         * FindUserBody
         * @example {
         *       "phone_number": "+4915123456789"
         *     }
         */
        FindUserBody: {
            /**
             * Phone Number
             * @description A phone number in E.164 format.
             * @example +4915123456789
             */
            phone_number: string;
        };
        /**
         * HighlightResponse
         * @description A part of the text. The parts of a result form an extract around the first match.
         */
        HighlightResponse: {
            /** Is Match */
            is_match: boolean;
            /** Text */
            text: string;
        };
        /**
         * HistoryResponse
         * @description A page of entries, newest first. The caller may not read sequences in `covered_range` that are not in `entries`.
         * @example {
         *       "covered_range": {
         *         "after": 6,
         *         "up_to": 7
         *       },
         *       "entries": [
         *         {
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *           "kind": "message",
         *           "mentions": [
         *             "ben"
         *           ],
         *           "reactions": [
         *             {
         *               "count": 2,
         *               "emoji": "👍",
         *               "users": [
         *                 "ben",
         *                 "cleo"
         *               ]
         *             }
         *           ],
         *           "sender": "anna",
         *           "sequence": 7,
         *           "state": "active",
         *           "status": "DELIVERED",
         *           "text": "Hello!"
         *         }
         *       ],
         *       "has_newer": false,
         *       "has_older": true
         *     }
         */
        HistoryResponse: {
            /**
             * Archived Up To
             * @description The newest archived message of the page: the content of older messages is not in the history either. Absent if none of the page is archived.
             */
            archived_up_to?: number | null;
            covered_range: components["schemas"]["CoveredRange"];
            /** Entries */
            entries: components["schemas"]["EntryResponse"][];
            /** Has Newer */
            has_newer: boolean;
            /** Has Older */
            has_older: boolean;
        };
        /**
         * HttpTokenBody
         * @description A token of your own push service.
         */
        HttpTokenBody: {
            /** Token */
            token: string;
        };
        /**
         * InboxBody
         * @description The complete configuration of an inbox. Fields that are not given are reset.
         *
         *     Exceptions: without `retention_days`, `known_users`, `channels` or `category_settings`, an existing inbox keeps its
         *     values, and a new inbox gets the tenant's defaults.
         * @example {
         *       "categories": [
         *         "news",
         *         "orders"
         *       ],
         *       "description": "System-wide notifications",
         *       "payload_schema": {
         *         "required": [
         *           "title"
         *         ],
         *         "type": "object"
         *       },
         *       "retention_days": 90,
         *       "title": "General Notifications"
         *     }
         */
        InboxBody: {
            /** Categories */
            categories?: string[];
            /**
             * Category Settings
             * @description Settings by category. They take precedence over `channels`.
             */
            category_settings?: {
                [key: string]: components["schemas"]["CategorySettingsBody"];
            } | null;
            /** @description The channels that notifications of the inbox take. */
            channels?: components["schemas"]["ChannelChoicesBody"] | null;
            /** Default Category */
            default_category?: string | null;
            /**
             * Description
             * @default
             */
            description?: string;
            /** Expires After S */
            expires_after_s?: number | null;
            /**
             * Known Users
             * @description Deliver only to users with a profile. The job counts others as failed.
             * @default false
             */
            known_users?: boolean;
            /**
             * Payload Schema
             * @description A JSON Schema (2020-12). Messages are validated against it when they are sent.
             */
            payload_schema?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** Retention Days */
            retention_days?: number | null;
            /**
             * Title
             * @example General Notifications
             */
            title: string;
        };
        /**
         * InboxDefaultsBody
         * @description Values that new inboxes start with. Replaces all values; existing inboxes do not change.
         * @example {
         *       "known_users": true,
         *       "retention_days": 90
         *     }
         */
        InboxDefaultsBody: {
            channels?: components["schemas"]["ChannelChoicesBody"] | null;
            /**
             * Known Users
             * @description Deliver only to users with a profile.
             * @default false
             */
            known_users?: boolean;
            /** Retention Days */
            retention_days?: number | null;
        };
        /**
         * InboxDefaultsResponse
         * @example {
         *       "known_users": true,
         *       "retention_days": 90,
         *       "updated_at": "2026-11-15T02:11:21.957Z",
         *       "version": 1
         *     }
         */
        InboxDefaultsResponse: {
            channels?: components["schemas"]["ChannelChoicesBody"] | null;
            /** Known Users */
            known_users: boolean;
            /** Retention Days */
            retention_days?: number | null;
            /** Updated At */
            updated_at?: string | null;
            /**
             * Version
             * @description 0 if the defaults were never set.
             */
            version: number;
        };
        /**
         * InboxesResponse
         * @example {
         *       "inboxes": [
         *         {
         *           "categories": [
         *             "news",
         *             "orders"
         *           ],
         *           "description": "System-wide notifications",
         *           "id": "default",
         *           "payload_schema": {
         *             "required": [
         *               "title"
         *             ],
         *             "type": "object"
         *           },
         *           "retention_days": 90,
         *           "schema_version": 1,
         *           "title": "General Notifications",
         *           "updated_at": "2026-11-15T02:11:21.957Z",
         *           "version": 1
         *         }
         *       ]
         *     }
         */
        InboxesResponse: {
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /** Inboxes */
            inboxes: components["schemas"]["InboxResponse"][];
        };
        /**
         * InboxResponse
         * @example {
         *       "categories": [
         *         "news",
         *         "orders"
         *       ],
         *       "description": "System-wide notifications",
         *       "id": "default",
         *       "payload_schema": {
         *         "required": [
         *           "title"
         *         ],
         *         "type": "object"
         *       },
         *       "retention_days": 90,
         *       "schema_version": 1,
         *       "title": "General Notifications",
         *       "updated_at": "2026-11-15T02:11:21.957Z",
         *       "version": 1
         *     }
         */
        InboxResponse: {
            /** Categories */
            categories: string[];
            /** Category Settings */
            category_settings?: {
                [key: string]: components["schemas"]["CategorySettingsBody"];
            } | null;
            channels?: components["schemas"]["ChannelChoicesBody"] | null;
            /** Default Category */
            default_category?: string | null;
            /** Description */
            description: string;
            /** Expires After S */
            expires_after_s?: number | null;
            /** Id */
            id: string;
            /**
             * Known Users
             * @default false
             */
            known_users?: boolean;
            /** Payload Schema */
            payload_schema?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** Retention Days */
            retention_days?: number | null;
            /**
             * Schema Version
             * @description Incremented with each change of `payload_schema`.
             */
            schema_version: number;
            /** Title */
            title: string;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            updated_at: string;
            /** Version */
            version: number;
        };
        /**
         * InviteBody
         * @example {
         *       "users": [
         *         "dora"
         *       ]
         *     }
         */
        InviteBody: {
            /** Users */
            users: string[];
        };
        /**
         * InviteResponse
         * @example {
         *       "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "invited_by": "anna"
         *     }
         */
        InviteResponse: {
            /** Chat */
            chat: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            /** Invited By */
            invited_by: string;
        };
        /**
         * InvitesResponse
         * @example {
         *       "invites": [
         *         {
         *           "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "invited_by": "anna"
         *         }
         *       ]
         *     }
         */
        InvitesResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Invites */
            invites: components["schemas"]["InviteResponse"][];
        };
        /**
         * JobResponse
         * @example {
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "done": 32100,
         *       "failed": 0,
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "inbox": "default",
         *       "kind": "deliver",
         *       "notification": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "rate_per_s": 2140,
         *       "remaining_s": 31.7,
         *       "state": "running",
         *       "total": 100000
         *     }
         */
        JobResponse: {
            /**
             * Chat
             * @description The chat that a job adds members to.
             */
            chat?: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            /** Done */
            done: number;
            /** Failed */
            failed: number;
            /** Finished At */
            finished_at?: string | null;
            /** Id */
            id: string;
            /** Inbox */
            inbox?: string | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "deliver" | "redact" | "amend" | "broadcast" | "add_members" | "mail" | "push" | "index" | "erase" | "export";
            /** Notification */
            notification?: string | null;
            /**
             * Rate Per S
             * @description Users per second, over the last ten seconds.
             */
            rate_per_s: number;
            /**
             * Remaining S
             * @description Estimated remaining time at this rate, in seconds.
             */
            remaining_s?: number | null;
            /**
             * Starts At
             * @description When a planned broadcast starts.
             */
            starts_at?: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "paused" | "cancelled" | "done";
            /** Total */
            total: number;
        };
        /**
         * JobsResponse
         * @example {
         *       "jobs": [
         *         {
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "done": 32100,
         *           "failed": 0,
         *           "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "inbox": "default",
         *           "kind": "deliver",
         *           "notification": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "rate_per_s": 2140,
         *           "remaining_s": 31.7,
         *           "state": "running",
         *           "total": 100000
         *         }
         *       ]
         *     }
         */
        JobsResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Jobs */
            jobs: components["schemas"]["JobResponse"][];
        };
        /**
         * JoinBody
         * @example {
         *       "token": "9n1Y0mZ0mC6cYwR0kq5tXw"
         *     }
         * @example {}
         */
        JoinBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Token
             * @description The token of the chat's link, for the rule `link`.
             */
            token?: string | null;
        };
        /**
         * JoinLinkResponse
         * @description A new link. The token is returned only here.
         * @example {
         *       "token": "9n1Y0mZ0mC6cYwR0kq5tXw"
         *     }
         */
        JoinLinkResponse: {
            /** Token */
            token: string;
        };
        JsonValue: unknown;
        /**
         * LastMessageResponse
         * @description The newest message of a chat.
         */
        LastMessageResponse: {
            /**
             * At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            at: string;
            /** Sender */
            sender: string;
            /** Sequence */
            sequence: number;
            /**
             * State
             * @enum {string}
             */
            state: "active" | "ephemeral" | "expired" | "redacted" | "erased" | "unreadable";
            /**
             * Text
             * @description The start of the text.
             */
            text?: string | null;
        };
        /**
         * LegacyAudiences
         * @description Recipients. `uids` contains only the calling user.
         */
        LegacyAudiences: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "users" | "everyone" | "segment";
            /** Label */
            label?: string | null;
            /** Uids */
            uids: string[];
        };
        /**
         * LegacyAudiencesBody
         * @description Recipients: specific users (`uids`), everyone, or a segment.
         */
        LegacyAudiencesBody: {
            /**
             * Kind
             * @default users
             * @enum {string}
             */
            kind?: "users" | "everyone" | "segment";
            /** Label */
            label?: string | null;
            /** Segment */
            segment?: string | null;
            /** Uids */
            uids?: string[];
        };
        /**
         * LegacyMarkBody
         * @description Either `ids`, or `before` with an optional `category`.
         * @example {
         *       "ids": [
         *         "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *       ]
         *     }
         * @example {
         *       "before": 1640995200,
         *       "category": "notification"
         *     }
         */
        LegacyMarkBody: {
            /** Before */
            before?: number | null;
            /** Category */
            category?: string | null;
            /** Ids */
            ids?: string[] | null;
        };
        /**
         * LegacyNotificationBody
         * @example {
         *       "audiences": {
         *         "kind": "users",
         *         "label": "Premium Users",
         *         "uids": [
         *           "user456",
         *           "user789"
         *         ]
         *       },
         *       "category": "notification",
         *       "host_system_id": "external_id_123",
         *       "message": {
         *         "title": "New Feature Available"
         *       },
         *       "sender": "admin_user"
         *     }
         */
        LegacyNotificationBody: {
            audiences: components["schemas"]["LegacyAudiencesBody"];
            /** Category */
            category?: string | null;
            /** Host System Id */
            host_system_id?: string | null;
            /**
             * Message
             * @description The content, at most 16 KB. It must match the inbox's `payload_schema`.
             * @example {
             *       "body": "Check out our latest feature...",
             *       "title": "New Feature Available"
             *     }
             */
            message: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Sender */
            sender?: string | null;
        };
        /**
         * LegacyNotificationIdBody
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *     }
         */
        LegacyNotificationIdBody: {
            /**
             * Id
             * @example 01JCQ4Z7N3V5X9B2M8K6T1R0WD
             */
            id: string;
        };
        /**
         * LegacyRedactedResponse
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "job": "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *     }
         */
        LegacyRedactedResponse: {
            /** Id */
            id: string;
            /** Job */
            job: string;
        };
        /** LegacyRow */
        LegacyRow: {
            audiences: components["schemas"]["LegacyAudiences"];
            /** Category */
            category: string | null;
            /**
             * Delivered
             * @example 1640995200
             */
            delivered: number;
            /** Host System Id */
            host_system_id: string | null;
            /** Id */
            id: string;
            /**
             * Message
             * @example {
             *       "title": "New Feature Available"
             *     }
             */
            message: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Readat */
            readat: number | null;
            /**
             * Received
             * @example 1640995200
             */
            received: number;
            /** Sender */
            sender: string | null;
        };
        /**
         * LegacyRowsResponse
         * @example {
         *       "counts": {
         *         "categories": {
         *           "notification": 1
         *         },
         *         "unread": 1,
         *         "unseen": 1
         *       },
         *       "messages": [
         *         {
         *           "audiences": {
         *             "kind": "users",
         *             "label": "Premium Users",
         *             "uids": [
         *               "user456",
         *               "user789"
         *             ]
         *           },
         *           "category": "notification",
         *           "delivered": 1640995201,
         *           "host_system_id": "external_id_123",
         *           "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "message": {
         *             "title": "New Feature Available"
         *           },
         *           "received": 1640995200,
         *           "sender": "admin_user"
         *         }
         *       ]
         *     }
         */
        LegacyRowsResponse: {
            counts: components["schemas"]["CountsResponse"];
            /** Messages */
            messages: components["schemas"]["LegacyRow"][];
        };
        /**
         * LegacySentResponse
         * @description A sent message. For a broadcast, `job` is empty and `recipients` is an estimate.
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "job": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "recipients": 2
         *     }
         */
        LegacySentResponse: {
            /** Id */
            id: string;
            /** Job */
            job: string;
            /** Recipients */
            recipients: number;
            /** Sequence */
            sequence?: number | null;
        };
        /**
         * LinkPreviewResponse
         * @description Title, description and picture of the page of a link.
         * @example {
         *       "description": "Opening hours and arrival.",
         *       "state": "ready",
         *       "title": "The beach",
         *       "url": "https://example.com/beach"
         *     }
         * @example {
         *       "state": "loading"
         *     }
         */
        LinkPreviewResponse: {
            /** Description */
            description?: string | null;
            /**
             * Image
             * @description A small picture, as a `data:` URL.
             */
            image?: string | null;
            /**
             * State
             * @description `loading`: ask again in a second. `off`: the tenant has no previews of links.
             * @enum {string}
             */
            state: "ready" | "loading" | "none" | "off";
            /** Title */
            title?: string | null;
            /** Url */
            url?: string | null;
        };
        /**
         * ListedDomainModel
         * @description A domain with its subdomains.
         */
        ListedDomainModel: {
            /**
             * Action
             * @default mask
             * @enum {string}
             */
            action?: "mask" | "refuse" | "flag";
            /**
             * Text
             * @example bad.example
             */
            text: string;
        };
        /**
         * ListedTermModel
         * @description `mask`: it is replaced by `*`. `refuse`: the message is answered with `message_refused`. `flag`: the message is sent
         *     and enters the review queue.
         */
        ListedTermModel: {
            /**
             * Action
             * @default mask
             * @enum {string}
             */
            action?: "mask" | "refuse" | "flag";
            /** Text */
            text: string;
        };
        /**
         * LoginResponse
         * @example {
         *       "is_new": false,
         *       "tokens": {
         *         "access_expires_at": "2026-11-15T02:11:21.957Z",
         *         "access_token": "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl",
         *         "refresh_token": "tdr.acme.01JCQ51A2B3C4D5E6F7G8H9J0K.c2VjcmV0",
         *         "session": "01JCQ51A2B3C4D5E6F7G8H9J0K"
         *       },
         *       "user": {
         *         "created_at": "2026-11-15T02:11:21.957Z",
         *         "display_name": "Anna",
         *         "id": "anna"
         *       }
         *     }
         */
        LoginResponse: {
            /**
             * Is New
             * @description Whether this login created the user.
             */
            is_new: boolean;
            tokens: components["schemas"]["TokensResponse"];
            user: components["schemas"]["UserResponse"];
        };
        /**
         * LogPositionResponse
         * @description An entry, and the number of messages up to it.
         */
        LogPositionResponse: {
            /** Ordinal */
            ordinal: number;
            /** Sequence */
            sequence: number;
        };
        /**
         * MailConfigBody
         * @description How the mails of an inbox look.
         * @example {
         *       "sender_name": "Example Shop",
         *       "templates": [
         *         {
         *           "html": "<p>Hello {{name}},</p><p>{{message.body}}</p>",
         *           "locale": "en",
         *           "subject": "{{message.title}}",
         *           "text": "Hello {{name}},\n\n{{message.body}}\n\nUnsubscribe: {{unsubscribe_url}}"
         *         }
         *       ]
         *     }
         */
        MailConfigBody: {
            /** Reply To */
            reply_to?: string | null;
            /** Sender Name */
            sender_name?: string | null;
            /**
             * Templates
             * @description Templates of categories; those without a category are for all others. Without a template, a mail shows `title`, `body` and `url` of the message.
             */
            templates?: components["schemas"]["MailTemplateBody"][];
        };
        /**
         * MailConfigResponse
         * @example {
         *       "sender_name": "Example Shop",
         *       "templates": [
         *         {
         *           "html": "<p>Hello {{name}},</p><p>{{message.body}}</p>",
         *           "locale": "en",
         *           "subject": "{{message.title}}",
         *           "text": "Hello {{name}},\n\n{{message.body}}\n\nUnsubscribe: {{unsubscribe_url}}"
         *         }
         *       ]
         *     }
         */
        MailConfigResponse: {
            /** Reply To */
            reply_to?: string | null;
            /** Sender Name */
            sender_name?: string | null;
            /**
             * Templates
             * @description Templates of categories; those without a category are for all others. Without a template, a mail shows `title`, `body` and `url` of the message.
             */
            templates?: components["schemas"]["MailTemplateBody"][];
            /** Updated At */
            updated_at?: string | null;
            /** Version */
            version: number;
        };
        /**
         * MailResultResponse
         * @example {
         *       "at": "2026-11-15T02:11:21.957Z",
         *       "attempts": 0,
         *       "notification_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "reason": "read",
         *       "state": "skipped"
         *     }
         */
        MailResultResponse: {
            /**
             * At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            at: string;
            /** Attempts */
            attempts: number;
            /** Notification Id */
            notification_id: string;
            /**
             * Reason
             * @description Why nothing was sent, such as `read` or `no_address`, or what the mail server answered.
             */
            reason?: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "sending" | "deferred" | "sent" | "skipped" | "failed";
        };
        /**
         * MailResultsResponse
         * @description The last mails of a user, newest notification first. Results are kept for 90 days.
         * @example {
         *       "emails": [
         *         {
         *           "at": "2026-11-15T02:11:21.957Z",
         *           "attempts": 0,
         *           "notification_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "reason": "read",
         *           "state": "skipped"
         *         }
         *       ]
         *     }
         */
        MailResultsResponse: {
            /** Emails */
            emails: components["schemas"]["MailResultResponse"][];
        };
        /**
         * MailTemplateBody
         * @description The texts of a mail in one language. Placeholders in `{{…}}` are replaced; in `html` their values are escaped.
         *
         *     Placeholders: `message.…` for the fields of the notification, `name`, `category`, `count` and `others` of a digest,
         *     and `unsubscribe_url`.
         * @example {
         *       "html": "<p>Hello {{name}},</p><p>{{message.body}}</p>",
         *       "locale": "en",
         *       "subject": "{{message.title}}",
         *       "text": "Hello {{name}},\n\n{{message.body}}\n\nUnsubscribe: {{unsubscribe_url}}"
         *     }
         */
        MailTemplateBody: {
            /** Category */
            category?: string | null;
            /**
             * Html
             * @description Without it, mails are plain text.
             */
            html?: string | null;
            /**
             * Locale
             * @example en
             */
            locale: string;
            /** Subject */
            subject: string;
            /** Text */
            text: string;
        };
        /**
         * MarkReadBody
         * @description Either `ids`, or all notifications up to `before` (default: now), optionally of one `category`.
         * @example {
         *       "ids": [
         *         "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *       ]
         *     }
         * @example {
         *       "before": "2026-11-15T02:11:21Z",
         *       "category": "news"
         *     }
         */
        MarkReadBody: {
            /** Before */
            before?: string | null;
            /** Category */
            category?: string | null;
            /** Ids */
            ids?: string[] | null;
        };
        /**
         * MemberJobResponse
         * @description The progress of a job that adds members.
         * @example {
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "done": 4800,
         *       "failed": 0,
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "rate_per_s": 2140,
         *       "remaining_s": 2.4,
         *       "state": "running",
         *       "total": 10000
         *     }
         */
        MemberJobResponse: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            /**
             * Done
             * @description Users who are members, including earlier members.
             */
            done: number;
            /**
             * Failed
             * @description Users who could not be added.
             */
            failed: number;
            /** Finished At */
            finished_at?: string | null;
            /** Id */
            id: string;
            /**
             * Rate Per S
             * @description Users per second, over the last ten seconds.
             */
            rate_per_s: number;
            /**
             * Remaining S
             * @description Estimated remaining time at this rate, in seconds.
             */
            remaining_s?: number | null;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "paused" | "cancelled" | "done";
            /**
             * Total
             * @description Number of users in the request. Each is counted once.
             */
            total: number;
        };
        /**
         * MemberResponse
         * @description A member of a chat. Values that delivery has not written yet are absent, and all watermarks in a large chat.
         */
        MemberResponse: {
            /** Delivered Sequence */
            delivered_sequence?: number | null;
            /**
             * Joined At
             * @description When they last joined.
             */
            joined_at?: string | null;
            /**
             * Read At
             * @description When they last marked messages as read.
             */
            read_at?: string | null;
            /** Read Sequence */
            read_sequence?: number | null;
            /**
             * Role
             * @enum {string}
             */
            role: "owner" | "admin" | "member";
            /** User */
            user: string;
        };
        /**
         * MembersAcceptedResponse
         * @description A job adds the users to the group.
         * @example {
         *       "job": "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *     }
         */
        MembersAcceptedResponse: {
            /** Job */
            job: string;
        };
        /**
         * MembersResponse
         * @description Members, ordered by user id.
         * @example {
         *       "cursor": "kM2cVZ8m",
         *       "members": [
         *         {
         *           "delivered_sequence": 7,
         *           "joined_at": "2026-11-14T09:00:00.000Z",
         *           "read_at": "2026-11-15T14:05:00.000Z",
         *           "read_sequence": 7,
         *           "role": "owner",
         *           "user": "anna"
         *         }
         *       ]
         *     }
         */
        MembersResponse: {
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /** Members */
            members: components["schemas"]["MemberResponse"][];
        };
        /**
         * MessageChangedResponse
         * @description A committed change. The change is itself an entry of the log, with this sequence.
         * @example {
         *       "sequence": 9
         *     }
         */
        MessageChangedResponse: {
            /** Sequence */
            sequence: number;
        };
        /**
         * MessageSentResponse
         * @description A committed message. Retries return the same answer.
         * @example {
         *       "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *       "sequence": 7
         *     }
         */
        MessageSentResponse: {
            /** Id */
            id: string;
            /** Sequence */
            sequence: number;
        };
        /**
         * MessageStatusResponse
         * @description The delivery status of a message. It is `READ` once all recipients have read it.
         *
         *     In a large chat, there are no receipts (`has_receipts`), and the status stays `SENT`.
         * @example {
         *       "delivered_to": [
         *         "ben",
         *         "cleo"
         *       ],
         *       "has_receipts": true,
         *       "read_at": {
         *         "ben": "2026-11-15T14:05:00.000Z"
         *       },
         *       "read_by": [
         *         "ben"
         *       ],
         *       "sequence": 7,
         *       "status": "DELIVERED"
         *     }
         */
        MessageStatusResponse: {
            /** Delivered To */
            delivered_to: string[];
            /** Has Receipts */
            has_receipts: boolean;
            /**
             * Read At
             * @description When users in `read_by` marked the message as read, if known. The server stores the time of each user's last mark in a chat, so it is known for the newest message that the mark covers.
             */
            read_at: {
                [key: string]: string;
            };
            /** Read By */
            read_by: string[];
            /** Sequence */
            sequence: number;
            /**
             * Status
             * @enum {string}
             */
            status: "SENT" | "DELIVERED" | "READ";
        };
        /**
         * NewMemberByPhone
         * @example {
         *       "client_message_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "phone_number": "+4915112345678"
         *     }
         */
        NewMemberByPhone: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Phone Number
             * @description A phone number in E.164 format.
             * @example +4915123456789
             */
            phone_number: string;
        };
        /**
         * NotificationAmendedResponse
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "version": 2
         *     }
         */
        NotificationAmendedResponse: {
            /** Id */
            id: string;
            /** Version */
            version: number;
        };
        /**
         * NotificationIdsBody
         * @example {
         *       "ids": [
         *         "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *       ]
         *     }
         */
        NotificationIdsBody: {
            /** Ids */
            ids: string[];
        };
        /**
         * NotificationLookupResponse
         * @description A sent notification without its content, which only recipients can read.
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "job": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "sent_at": "2026-11-15T02:11:21.957Z",
         *       "total": 2,
         *       "version": 1
         *     }
         */
        NotificationLookupResponse: {
            /** Id */
            id: string;
            /** Job */
            job: string;
            /** Redacted At */
            redacted_at?: string | null;
            /**
             * Sent At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            sent_at: string;
            /** Total */
            total: number;
            /** Version */
            version: number;
        };
        /**
         * NotificationRecalledResponse
         * @description A recalled notification. `job` removes it from the recipients' counts; it is empty for a broadcast.
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "job": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "redacted_at": "2026-11-15T02:11:21.957Z"
         *     }
         */
        NotificationRecalledResponse: {
            /** Id */
            id: string;
            /** Job */
            job: string;
            /**
             * Redacted At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            redacted_at: string;
        };
        /** NotificationResponse */
        NotificationResponse: {
            /** Category */
            category?: string | null;
            /**
             * Delivered At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            delivered_at: string;
            /**
             * Digest Count
             * @description How many notifications with the same digest key it stands for, itself included. `message`, `sender` and `label` are those of the newest. Absent without a digest.
             */
            digest_count?: number | null;
            /** Expires At */
            expires_at?: string | null;
            /** Host System Id */
            host_system_id?: string | null;
            /** Id */
            id: string;
            /** Is Archived */
            is_archived: boolean;
            /** Is Read */
            is_read: boolean;
            /** Is Seen */
            is_seen: boolean;
            /** Label */
            label?: string | null;
            /**
             * Message
             * @example {
             *       "title": "New Feature Available"
             *     }
             */
            message: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /**
             * Received At
             * Format: date-time
             * @description When it was sent.
             * @example 2026-11-15T02:11:21.957Z
             */
            received_at: string;
            /** Sender */
            sender?: string | null;
            /**
             * Version
             * @description Greater than 1 if the content was changed.
             */
            version: number;
        };
        /**
         * NotificationSentResponse
         * @description A committed notification. `job` delivers it to the recipients and reports the progress.
         * @example {
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "job": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "total": 2
         *     }
         */
        NotificationSentResponse: {
            /** Id */
            id: string;
            /** Job */
            job: string;
            /** Total */
            total: number;
        };
        /**
         * NotificationsResponse
         * @description A page of notifications, newest first. With a filter, a page may be short or empty although there is a cursor.
         * @example {
         *       "counts": {
         *         "categories": {
         *           "news": 2
         *         },
         *         "next_change_at": "2026-11-15T02:11:21.957Z",
         *         "unread": 3,
         *         "unseen": 1
         *       },
         *       "cursor": "kM2cVZ8m0vJr1mJ4yq0O2WJlbg",
         *       "notifications": [
         *         {
         *           "category": "news",
         *           "delivered_at": "2026-11-15T02:11:21.957Z",
         *           "host_system_id": "external_id_123",
         *           "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "is_archived": false,
         *           "is_read": false,
         *           "is_seen": true,
         *           "label": "Premium Users",
         *           "message": {
         *             "title": "New Feature Available"
         *           },
         *           "received_at": "2026-11-15T02:11:21.957Z",
         *           "sender": "admin_user",
         *           "version": 1
         *         }
         *       ]
         *     }
         */
        NotificationsResponse: {
            counts: components["schemas"]["CountsResponse"];
            /** Cursor */
            cursor?: string | null;
            /** Notifications */
            notifications: components["schemas"]["NotificationResponse"][];
        };
        /**
         * OwnProfile
         * @description A partial update of the user's own profile. Only the user can change `phone_search`.
         * @example {
         *       "display_name": "Anna B."
         *     }
         */
        OwnProfile: {
            /** Avatar Uri */
            avatar_uri?: string | null;
            /** Display Name */
            display_name?: string | null;
            /** Last Seen */
            last_seen?: ("members" | "nobody") | null;
            /** Locale */
            locale?: string | null;
            /** Phone Search */
            phone_search?: ("everyone" | "nobody") | null;
        };
        /** PartBody */
        PartBody: {
            /** Number */
            number: number;
            /**
             * Sha256
             * @description SHA-256 in base64.
             * @example n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=
             */
            sha256: string;
        };
        /**
         * PreferencesResponse
         * @description The channels that a user's notifications take.
         * @example {
         *       "categories": [
         *         {
         *           "channels": {
         *             "email": false,
         *             "inbox": true,
         *             "push": false,
         *             "webhook": true
         *           },
         *           "chosen": {
         *             "push": false
         *           },
         *           "is_critical": false,
         *           "name": "news"
         *         }
         *       ],
         *       "channels": {
         *         "email": false,
         *         "inbox": true,
         *         "push": true,
         *         "webhook": true
         *       },
         *       "chosen": {
         *         "email": false
         *       }
         *     }
         */
        PreferencesResponse: {
            /** Categories */
            categories: components["schemas"]["CategoryPreferencesResponse"][];
            /** @description For notifications without a category. */
            channels: components["schemas"]["ChannelsResponse"];
            /** @description The user's own choices for all categories. */
            chosen: components["schemas"]["ChannelChoicesBody"];
        };
        /**
         * PresenceResponse
         * @description The presence of a user. `seen_at` is when an offline user was last connected, if known.
         * @example {
         *       "seen_at": "2026-11-15T02:11:21.957Z",
         *       "status": "offline",
         *       "user": "ben"
         *     }
         */
        PresenceResponse: {
            /** Seen At */
            seen_at?: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "online" | "away" | "offline";
            /** User */
            user: string;
        };
        /**
         * Problem
         * @description An error. `code` is stable and the same in REST, WebSocket frames and commands. `detail` may change.
         */
        Problem: {
            /** @example chat_full */
            code: components["schemas"]["Code"];
            /**
             * Detail
             * @example The chat would have 1001 members; 1000 are allowed.
             */
            detail: string;
            /**
             * Errors
             * @description All invalid fields of the request.
             */
            errors?: components["schemas"]["FieldError"][] | null;
            /**
             * Hint
             * @description How to resolve the error.
             */
            hint?: string | null;
            /**
             * Request Id
             * @description Identifies the request in the server's log.
             * @example 01JCQ4Z7N3V5X9B2M8K6T1R0WD
             */
            request_id: string;
            /**
             * Retry After Ms
             * @description Wait this long before a retry, as in `Retry-After`.
             */
            retry_after_ms?: number | null;
            /**
             * Retryable
             * @description Whether the same request can succeed later.
             * @example false
             */
            retryable: boolean;
            /**
             * Status
             * @example 409
             */
            status: number;
            /**
             * Title
             * @example Chat full
             */
            title: string;
            /**
             * Type
             * @description Link to the documentation of the code.
             * @example /errors/chat_full
             */
            type: string;
        };
        /**
         * ProfileBody
         * @description Attributes of a user. Replaces all attributes.
         *
         *     The first `created_at` is kept: the user does not see broadcasts that were sent before it.
         * @example {
         *       "attributes": {
         *         "plan": "pro"
         *       },
         *       "created_at": "2026-11-15T02:11:21.957Z"
         *     }
         */
        ProfileBody: {
            /** Attributes */
            attributes: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Created At */
            created_at?: string | null;
        };
        /**
         * ProfileResponse
         * @example {
         *       "attributes": {
         *         "plan": "pro"
         *       },
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "lists": {
         *         "vip": 2
         *       },
         *       "user": "anna"
         *     }
         */
        ProfileResponse: {
            /** Attributes */
            attributes: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Created At */
            created_at?: string | null;
            /**
             * Lists
             * @description The newest version of each list that contains the user.
             */
            lists: {
                [key: string]: number;
            };
            /** User */
            user: string;
        };
        /** PushAttemptResponse */
        PushAttemptResponse: {
            /**
             * Action
             * @description `alert` makes a sound, `update` replaces the shown notification silently.
             * @enum {string}
             */
            action: "alert" | "update" | "withdraw" | "none";
            /** Answer */
            answer: string;
            /**
             * At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            at: string;
            /**
             * Status
             * @description The status of the provider's answer; 0 without one.
             */
            status: number;
        };
        /**
         * PushPreferencesBody
         * @description A user's preferences for push notifications. `notify` applies to chats without a choice of their own.
         * @example {
         *       "notify": "all",
         *       "quiet_hours": {
         *         "days": [
         *           0,
         *           1,
         *           2,
         *           3,
         *           4,
         *           5,
         *           6
         *         ],
         *         "end": "07:00",
         *         "start": "22:00"
         *       },
         *       "time_zone": "Europe/Berlin"
         *     }
         */
        PushPreferencesBody: {
            /**
             * Notify
             * @default all
             * @enum {string}
             */
            notify?: "all" | "mentions" | "none";
            quiet_hours?: components["schemas"]["QuietHoursBody"] | null;
            /**
             * Time Zone
             * @description A name of the IANA database. Quiet hours follow its clock changes.
             * @default UTC
             * @example Europe/Berlin
             */
            time_zone?: string;
        };
        /**
         * PushResultResponse
         * @description What happened to a notification. Without `device`, a decision about all devices of the recipient.
         */
        PushResultResponse: {
            /** Attempts */
            attempts: components["schemas"]["PushAttemptResponse"][];
            /**
             * Decided At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            decided_at: string;
            /** Device */
            device?: string | null;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "sent" | "retrying" | "gone" | "failed" | "skipped";
            /** Provider */
            provider?: ("apns" | "fcm" | "web_push" | "http") | null;
            /** Reason */
            reason: string;
            /** User */
            user: string;
        };
        /**
         * PushResultsResponse
         * @example {
         *       "results": [
         *         {
         *           "attempts": [
         *             {
         *               "action": "alert",
         *               "answer": "",
         *               "at": "2026-11-17T08:30:00.120Z",
         *               "status": 200
         *             }
         *           ],
         *           "decided_at": "2026-11-17T08:30:00.000Z",
         *           "device": "phone",
         *           "outcome": "sent",
         *           "provider": "apns",
         *           "reason": "",
         *           "user": "ben"
         *         }
         *       ]
         *     }
         */
        PushResultsResponse: {
            /** Results */
            results: components["schemas"]["PushResultResponse"][];
        };
        /**
         * QueuedResponse
         * @description Events that wait: entries of a chat from `first` to `last`, an event, or a replay that starts soon.
         */
        QueuedResponse: {
            /**
             * Attempts
             * @description Failed attempts of the first event.
             */
            attempts: number;
            /** First */
            first: number;
            /**
             * Key
             * @description The chat of a run; the id of an event or replay.
             */
            key: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "run" | "replayed" | "event" | "replay";
            /** Last */
            last: number;
            /**
             * Next At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            next_at: string;
            /** Reason */
            reason?: string | null;
            /** Status */
            status?: number | null;
            /**
             * Type
             * @description The type of an event that is not an entry of a chat.
             */
            type?: string | null;
        };
        /**
         * QueueResponse
         * @description The first 1,000 items of an endpoint's queue.
         * @example {
         *       "waiting": [
         *         {
         *           "attempts": 2,
         *           "first": 7,
         *           "key": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *           "kind": "run",
         *           "last": 9,
         *           "next_at": "2026-11-15T02:11:21.957Z",
         *           "reason": "the endpoint answered 503",
         *           "status": 503
         *         }
         *       ]
         *     }
         */
        QueueResponse: {
            /** Waiting */
            waiting: components["schemas"]["QueuedResponse"][];
        };
        /**
         * QuietHoursBody
         * @description Local times between which no notification is sent. An end before the start is on the next day.
         */
        QuietHoursBody: {
            /**
             * Days
             * @description Weekdays on which the hours start, 0 for Monday.
             * @default [
             *       0,
             *       1,
             *       2,
             *       3,
             *       4,
             *       5,
             *       6
             *     ]
             */
            days?: number[];
            /**
             * End
             * @description A local time of day.
             * @example 22:00
             */
            end: string;
            /**
             * Start
             * @description A local time of day.
             * @example 22:00
             */
            start: string;
        };
        /**
         * RampBody
         * @example {
         *       "percent": 50
         *     }
         */
        RampBody: {
            /**
             * Percent
             * @description Share of the users who see it, in percent.
             * @example 25
             */
            percent: number;
        };
        /** RampStep */
        RampStep: {
            /**
             * After S
             * @description Seconds after the start of the broadcast.
             * @default 0
             */
            after_s?: number;
            /**
             * Percent
             * @description Share of the users who see it, in percent.
             * @example 25
             */
            percent: number;
        };
        /**
         * ReactionResponse
         * @description A reaction. `users` has only the first users who reacted to the message, over all its emoji.
         */
        ReactionResponse: {
            /** Count */
            count: number;
            /** Emoji */
            emoji: string;
            /** Users */
            users: string[];
        };
        /** ReaderResponse */
        ReaderResponse: {
            /**
             * Read At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            read_at: string;
            /** User */
            user: string;
        };
        /**
         * ReadersResponse
         * @description Readers, ordered by user id.
         * @example {
         *       "readers": [
         *         {
         *           "read_at": "2026-11-15T02:11:21.957Z",
         *           "user": "anna"
         *         }
         *       ]
         *     }
         */
        ReadersResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Readers */
            readers: components["schemas"]["ReaderResponse"][];
        };
        /**
         * RecallProofResponse
         * @description A recipient. Without `delivered_at` it was never delivered; without `removed_at` the recall is not complete.
         */
        RecallProofResponse: {
            /** Delivered At */
            delivered_at?: string | null;
            /** Read At */
            read_at?: string | null;
            /** Removed At */
            removed_at?: string | null;
            /** User */
            user: string;
        };
        /**
         * RecallProofsResponse
         * @example {
         *       "users": [
         *         {
         *           "delivered_at": "2026-11-15T02:11:21.957Z",
         *           "read_at": "2026-11-15T02:11:21.957Z",
         *           "removed_at": "2026-11-15T02:11:21.957Z",
         *           "user": "anna"
         *         }
         *       ]
         *     }
         */
        RecallProofsResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Users */
            users: components["schemas"]["RecallProofResponse"][];
        };
        /** ReceivedPart */
        ReceivedPart: {
            /** Number */
            number: number;
            /** Size */
            size: number;
        };
        /**
         * RedeemCodeBody
         * @example {
         *       "challenge": "ORUGS4ZANFZSAYJAMNUGC3DMMV",
         *       "code": "123456",
         *       "device": {
         *         "id": "01JCQ50Y8D2JX4N6T0V3Z7K9PA",
         *         "name": "Anna's phone"
         *       },
         *       "phone": "+4915123456789",
         *       "tenant": "acme"
         *     }
         */
        RedeemCodeBody: {
            /** Challenge */
            challenge: string;
            /** Code */
            code: string;
            device: components["schemas"]["DeviceBody"];
            /**
             * Phone
             * @description A phone number in E.164 format.
             * @example +4915123456789
             */
            phone: string;
            /**
             * Tenant
             * @description The tenant to log in to.
             * @example acme
             */
            tenant: string;
        };
        /**
         * RefreshBody
         * @example {
         *       "refresh_token": "tdr.acme.01JCQ51A2B3C4D5E6F7G8H9J0K.c2VjcmV0"
         *     }
         */
        RefreshBody: {
            /** Refresh Token */
            refresh_token: string;
        };
        /**
         * RegisterDeviceBody
         * @description Exactly one of `apns`, `fcm`, `web_push` and `http`.
         * @example {
         *       "locale": "de",
         *       "web_push": {
         *         "endpoint": "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABm",
         *         "keys": {
         *           "auth": "BTBZMqHH6r4Tts7J_aSIgg",
         *           "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
         *         }
         *       }
         *     }
         */
        RegisterDeviceBody: {
            apns?: components["schemas"]["ApnsBody"] | null;
            /**
             * Data Only
             * @description Send ids and the badge without text. The app shows the notification itself.
             * @default false
             */
            data_only?: boolean;
            fcm?: components["schemas"]["FcmBody"] | null;
            http?: components["schemas"]["HttpTokenBody"] | null;
            /**
             * Locale
             * @description The language of notifications, as a BCP 47 tag.
             * @default
             * @example de
             */
            locale?: string;
            web_push?: components["schemas"]["WebPushBody"] | null;
        };
        /**
         * RenameBody
         * @example {
         *       "client_message_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "name": "Dinner"
         *     }
         */
        RenameBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Name
             * @description The name that users see.
             * @example Lunch
             */
            name: string;
        };
        /**
         * ReplayBody
         * @example {
         *       "since": "2026-11-15T02:11:21.957Z"
         *     }
         */
        ReplayBody: {
            /**
             * Since
             * Format: date-time
             * @description A time within the last 48 hours, with `Z` or an offset.
             */
            since: string;
        };
        /**
         * ReportBody
         * @description Why a message or a user is reported.
         * @example {
         *       "reason": "spam",
         *       "text": "The same link in every group."
         *     }
         * @example {
         *       "reason": "abuse"
         *     }
         */
        ReportBody: {
            /**
             * Reason
             * @enum {string}
             */
            reason: "spam" | "abuse" | "violence" | "sexual" | "illegal" | "other";
            /**
             * Text
             * @description Moderators see it. Other users do not.
             */
            text?: string | null;
        };
        /**
         * ReportResponse
         * @example {
         *       "at": "2026-11-15T02:11:21.957Z",
         *       "reason": "spam",
         *       "reporter": "anna",
         *       "text": "The same link in every group."
         *     }
         */
        ReportResponse: {
            /**
             * At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            at: string;
            /** Reason */
            reason: string;
            /** Reporter */
            reporter: string;
            /** Text */
            text?: string | null;
        };
        /**
         * RequestCodeBody
         * @example {
         *       "phone": "+4915123456789",
         *       "tenant": "acme"
         *     }
         */
        RequestCodeBody: {
            /**
             * Phone
             * @description A phone number in E.164 format.
             * @example +4915123456789
             */
            phone: string;
            /**
             * Tenant
             * @description The tenant to log in to.
             * @example acme
             */
            tenant: string;
        };
        /**
         * RestrictionBody
         * @description A mute or ban.
         * @example {
         *       "reason": "spam",
         *       "until": "2026-12-01T00:00:00Z"
         *     }
         * @example {}
         */
        RestrictionBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /** Reason */
            reason?: string | null;
            /**
             * Until
             * @description When it ends, by the server's clock. Absent: it has no end.
             */
            until?: string | null;
        };
        /**
         * ReviewDetailsResponse
         * @description A review with its first 100 reports, by user id.
         * @example {
         *       "reports": [
         *         {
         *           "at": "2026-11-15T02:11:21.957Z",
         *           "reason": "spam",
         *           "reporter": "anna",
         *           "text": "The same link in every group."
         *         }
         *       ],
         *       "review": {
         *         "author": "ben",
         *         "count": 2,
         *         "id": "m.gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *         "message": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *         "opened_at": "2026-11-15T02:11:21.957Z",
         *         "reasons": [
         *           "abuse",
         *           "spam"
         *         ],
         *         "reported_at": "2026-11-15T02:11:40.100Z",
         *         "state": "open"
         *       }
         *     }
         */
        ReviewDetailsResponse: {
            /** Reports */
            reports: components["schemas"]["ReportResponse"][];
            review: components["schemas"]["ReviewResponse"];
        };
        /**
         * ReviewResponse
         * @description All reports about one message or user. `author` wrote the message, or is the reported user.
         * @example {
         *       "author": "ben",
         *       "count": 2,
         *       "id": "m.gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *       "message": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *       "opened_at": "2026-11-15T02:11:21.957Z",
         *       "reasons": [
         *         "abuse",
         *         "spam"
         *       ],
         *       "reported_at": "2026-11-15T02:11:40.100Z",
         *       "state": "open"
         *     }
         */
        ReviewResponse: {
            /** Author */
            author: string;
            /** Count */
            count: number;
            decision?: components["schemas"]["DecisionResponse"] | null;
            /** Id */
            id: string;
            /** Message */
            message?: string | null;
            /**
             * Opened At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            opened_at: string;
            /** Reasons */
            reasons: string[];
            /**
             * Reported At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            reported_at: string;
            /**
             * State
             * @enum {string}
             */
            state: "open" | "applying" | "decided";
        };
        /**
         * ReviewsResponse
         * @description Open reviews, oldest first; then decided ones, newest first. A page with a `cursor` is not the last one.
         * @example {
         *       "reviews": [
         *         {
         *           "author": "ben",
         *           "count": 2,
         *           "id": "m.gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *           "message": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *           "opened_at": "2026-11-15T02:11:21.957Z",
         *           "reasons": [
         *             "abuse",
         *             "spam"
         *           ],
         *           "reported_at": "2026-11-15T02:11:40.100Z",
         *           "state": "open"
         *         }
         *       ]
         *     }
         */
        ReviewsResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Reviews */
            reviews: components["schemas"]["ReviewResponse"][];
        };
        /**
         * RotateSecretBody
         * @example {
         *       "overlap_seconds": 86400
         *     }
         */
        RotateSecretBody: {
            /**
             * Overlap Seconds
             * @description How long events are signed with the former secret too.
             * @default 86400
             */
            overlap_seconds?: number;
        };
        /**
         * SearchResponse
         * @description Messages that match, newest first. A page can have fewer messages than `limit`, or none, and have a cursor.
         * @example {
         *       "results": [
         *         {
         *           "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *           "highlights": [
         *             {
         *               "is_match": true,
         *               "text": "Lunch"
         *             },
         *             {
         *               "is_match": false,
         *               "text": " at noon?"
         *             }
         *           ],
         *           "message": {
         *             "created_at": "2026-11-15T02:11:21.957Z",
         *             "id": "gLAJWK6M7H3QFQ3PWXCZ5GZQD.7",
         *             "kind": "message",
         *             "sender": "ben",
         *             "sequence": 7,
         *             "state": "active",
         *             "text": "Lunch at noon?"
         *           }
         *         }
         *       ]
         *     }
         */
        SearchResponse: {
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /** Results */
            results: components["schemas"]["SearchResultResponse"][];
        };
        /** SearchResultResponse */
        SearchResultResponse: {
            /** Chat */
            chat: string;
            /** Highlights */
            highlights: components["schemas"]["HighlightResponse"][];
            message: components["schemas"]["EntryResponse"];
        };
        /**
         * SegmentBody
         * @description A segment defined by a predicate, which is evaluated when a user reads their inbox.
         * @example {
         *       "predicate": {
         *         "all": [
         *           {
         *             "attribute": "plan",
         *             "in": [
         *               "pro",
         *               "team"
         *             ]
         *           }
         *         ]
         *       }
         *     }
         */
        SegmentBody: {
            /**
             * Predicate
             * @example {
             *       "all": [
             *         {
             *           "attribute": "plan",
             *           "in": [
             *             "pro",
             *             "team"
             *           ]
             *         }
             *       ]
             *     }
             */
            predicate: {
                [key: string]: components["schemas"]["JsonValue"];
            };
        };
        /**
         * SegmentResponse
         * @example {
         *       "name": "pros",
         *       "predicate": {
         *         "all": [
         *           {
         *             "attribute": "plan",
         *             "in": [
         *               "pro",
         *               "team"
         *             ]
         *           }
         *         ]
         *       },
         *       "updated_at": "2026-11-15T02:11:21.957Z",
         *       "version": 1
         *     }
         */
        SegmentResponse: {
            /**
             * Active
             * @description The active version of the list.
             */
            active?: number | null;
            /**
             * Kind
             * @default predicate
             * @enum {string}
             */
            kind?: "predicate" | "list";
            /** Name */
            name: string;
            /**
             * Newest
             * @description The version that was uploaded last.
             */
            newest?: number | null;
            /** Predicate */
            predicate?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            updated_at: string;
            /** Version */
            version: number;
        };
        /**
         * SegmentsResponse
         * @example {
         *       "segments": [
         *         {
         *           "name": "pros",
         *           "predicate": {
         *             "all": [
         *               {
         *                 "attribute": "plan",
         *                 "in": [
         *                   "pro",
         *                   "team"
         *                 ]
         *               }
         *             ]
         *           },
         *           "updated_at": "2026-11-15T02:11:21.957Z",
         *           "version": 1
         *         }
         *       ]
         *     }
         */
        SegmentsResponse: {
            /**
             * Cursor
             * @description Cursor of the next page. Absent on the last page.
             */
            cursor?: string | null;
            /** Segments */
            segments: components["schemas"]["SegmentResponse"][];
        };
        /**
         * SegmentUsersBody
         * @description Users of a list. They go into its next version, or into the open `version` if a long list needs several calls.
         * @example {
         *       "users": [
         *         "anna",
         *         "ben"
         *       ]
         *     }
         */
        SegmentUsersBody: {
            /** Users */
            users: string[];
            /** Version */
            version?: number | null;
        };
        /**
         * SendMessageBody
         * @example {
         *       "client_message_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "text": "Hello!"
         *     }
         * @example {
         *       "after": 6,
         *       "mentions": [
         *         "ben"
         *       ],
         *       "reply_to": 5,
         *       "text": "See you @ben",
         *       "ttl_seconds": 86400
         *     }
         * @example {
         *       "attachments": [
         *         "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
         *       ],
         *       "text": "The beach"
         *     }
         * @example {
         *       "content_type": "application/geo+json",
         *       "data": {
         *         "location": {
         *           "lat": 52.52,
         *           "lon": 13.4
         *         }
         *       }
         *     }
         */
        SendMessageBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /**
             * Attachments
             * @description Ids of complete uploads of the sender for this chat.
             */
            attachments?: string[];
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * Content Type
             * @example text/plain
             */
            content_type?: string | null;
            /** Data */
            data?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /** Mentions */
            mentions?: string[];
            /**
             * Reply To
             * @description The sequence of a message in the same chat.
             */
            reply_to?: number | null;
            /**
             * Text
             * @default
             * @example Hello!
             */
            text?: string;
            /**
             * Ttl Seconds
             * @description Hide the content after this time.
             */
            ttl_seconds?: number | null;
        };
        /**
         * SendNotificationBody
         * @example {
         *       "message": {
         *         "title": "New Feature Available"
         *       },
         *       "user_ids": [
         *         "anna",
         *         "ben"
         *       ]
         *     }
         */
        SendNotificationBody: {
            /** Category */
            category?: string | null;
            /** Digest Key */
            digest_key?: string | null;
            /** Expires At */
            expires_at?: string | null;
            /** Host System Id */
            host_system_id?: string | null;
            /**
             * Is Critical
             * @description Ignore the preferences of users. Only the tenant's settings choose the channels.
             * @default false
             */
            is_critical?: boolean;
            /**
             * Is Unique
             * @description Refuse a second notification with this `host_system_id` in the inbox.
             * @default false
             */
            is_unique?: boolean;
            /** Label */
            label?: string | null;
            /**
             * Message
             * @description The content, at most 16 KB. It must match the inbox's `payload_schema`.
             * @example {
             *       "body": "Check out our latest feature...",
             *       "title": "New Feature Available"
             *     }
             */
            message: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** Sender */
            sender?: string | null;
            /** User Ids */
            user_ids: string[];
        };
        /** SessionResponse */
        SessionResponse: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            device: components["schemas"]["DeviceBody"];
            /**
             * Expires At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            expires_at: string;
            /** Id */
            id: string;
            /**
             * Refreshed At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            refreshed_at: string;
        };
        /**
         * SessionsResponse
         * @description Active sessions, oldest first. A session that just began may be missing.
         * @example {
         *       "sessions": [
         *         {
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "device": {
         *             "id": "01JCQ50Y8D2JX4N6T0V3Z7K9PA",
         *             "name": "Anna's phone"
         *           },
         *           "expires_at": "2026-11-15T02:11:21.957Z",
         *           "id": "01JCQ51A2B3C4D5E6F7G8H9J0K",
         *           "refreshed_at": "2026-11-15T02:11:21.957Z"
         *         }
         *       ]
         *     }
         */
        SessionsResponse: {
            /** Sessions */
            sessions: components["schemas"]["SessionResponse"][];
        };
        /**
         * SignedPartsResponse
         * @description A request for each part, in the order of the parts that were asked for.
         * @example {
         *       "parts": [
         *         {
         *           "headers": {
         *             "Content-Length": "8388608"
         *           },
         *           "url": "https://tidings-media.s3.eu-central-1.amazonaws.com/…"
         *         }
         *       ]
         *     }
         */
        SignedPartsResponse: {
            /** Parts */
            parts: components["schemas"]["SignedRequestResponse"][];
        };
        /**
         * SignedRequestResponse
         * @description A PUT request to the bucket. Send the bytes with exactly these headers.
         */
        SignedRequestResponse: {
            /** Headers */
            headers: {
                [key: string]: string;
            };
            /**
             * Url
             * @example https://tidings-media.s3.eu-central-1.amazonaws.com/…
             */
            url: string;
        };
        /**
         * SignPartsBody
         * @example {
         *       "parts": [
         *         {
         *           "number": 1,
         *           "sha256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
         *         }
         *       ]
         *     }
         */
        SignPartsBody: {
            /** Parts */
            parts: components["schemas"]["PartBody"][];
        };
        /**
         * StartUploadBody
         * @example {
         *       "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *       "name": "beach.jpg",
         *       "sha256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
         *       "size": 4,
         *       "type": "image/jpeg"
         *     }
         */
        StartUploadBody: {
            /**
             * Chat
             * @description A chat id.
             */
            chat: string;
            /**
             * Name
             * @example beach.jpg
             */
            name: string;
            /**
             * Sha256
             * @description SHA-256 in base64.
             * @example n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=
             */
            sha256: string;
            /**
             * Size
             * @description Bytes of the file.
             */
            size: number;
            /**
             * Type
             * @description The media type, in lower case and without parameters.
             * @example image/jpeg
             */
            type: string;
        };
        /** @enum {string} */
        StatusName: "enabled" | "disabled";
        /**
         * ThrottleBody
         * @description A limit of notifications for each user and window. Critical notifications are not limited.
         * @example {
         *       "limit": 5,
         *       "window_s": 3600
         *     }
         */
        ThrottleBody: {
            /**
             * Excess
             * @description `silent`: put others into the inbox, marked as read. `drop`: do not deliver them.
             * @default silent
             * @enum {string}
             */
            excess?: "silent" | "drop";
            /** Limit */
            limit: number;
            /**
             * Window S
             * @description Length of a window, in seconds.
             */
            window_s: number;
        };
        /**
         * TokensResponse
         * @description The tokens of a session. A refresh replaces both. Do not use the old refresh token again.
         * @example {
         *       "access_expires_at": "2026-11-15T02:11:21.957Z",
         *       "access_token": "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl",
         *       "refresh_token": "tdr.acme.01JCQ51A2B3C4D5E6F7G8H9J0K.c2VjcmV0",
         *       "session": "01JCQ51A2B3C4D5E6F7G8H9J0K"
         *     }
         */
        TokensResponse: {
            /**
             * Access Expires At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            access_expires_at: string;
            /** Access Token */
            access_token: string;
            /** Refresh Token */
            refresh_token: string;
            /** Session */
            session: string;
        };
        /**
         * TransferBody
         * @example {
         *       "user": "ben"
         *     }
         */
        TransferBody: {
            /**
             * After
             * @description The highest sequence that the client had at its first attempt. Send the same value in retries.
             */
            after?: number | null;
            /** Client Message Id */
            client_message_id?: string | null;
            /**
             * User
             * @description A user id.
             * @example anna
             */
            user: string;
        };
        /**
         * UnreadExplanationResponse
         * @description `unread` is the ordinal of `head` minus the highest ordinal of `read`, `own` and `joined`, and at least 0.
         * @example {
         *       "counts_after": "read",
         *       "head": {
         *         "ordinal": 7,
         *         "sequence": 9
         *       },
         *       "joined": {
         *         "ordinal": 0,
         *         "sequence": 1
         *       },
         *       "read": {
         *         "ordinal": 5,
         *         "sequence": 6
         *       },
         *       "unread": 2
         *     }
         */
        UnreadExplanationResponse: {
            /**
             * Counts After
             * @description The position from which unread messages are counted.
             */
            counts_after?: ("read" | "own" | "joined") | null;
            /** @description The newest entry of the chat that delivery has processed. */
            head: components["schemas"]["LogPositionResponse"];
            /** @description The entry with which the user last joined. */
            joined?: components["schemas"]["LogPositionResponse"] | null;
            /** @description The user's own last message. */
            own?: components["schemas"]["LogPositionResponse"] | null;
            /** @description The last entry that the user marked as read. */
            read?: components["schemas"]["LogPositionResponse"] | null;
            /** Unread */
            unread: number;
        };
        /**
         * UpdateUserBody
         * @description A partial update by the tenant's server. Only it can change `email`: verify the address before.
         * @example {
         *       "email": "anna@example.com",
         *       "locale": "de"
         *     }
         */
        UpdateUserBody: {
            /** Avatar Uri */
            avatar_uri?: string | null;
            /** Display Name */
            display_name?: string | null;
            /** Email */
            email?: string | null;
            /** Last Seen */
            last_seen?: ("members" | "nobody") | null;
            /** Locale */
            locale?: string | null;
        };
        /**
         * UpdateWebhookBody
         * @description Changes of an endpoint. Fields that are not given keep their values.
         * @example {
         *       "status": "enabled"
         *     }
         */
        UpdateWebhookBody: {
            /** Description */
            description?: string | null;
            /** Events */
            events?: components["schemas"]["EventTypeName"][] | null;
            status?: components["schemas"]["StatusName"] | null;
            /** Url */
            url?: string | null;
        };
        /**
         * UploadResponse
         * @description An upload. `put`: where a small file goes. `part_bytes` and `part_count`: how a large file is divided.
         * @example {
         *       "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
         *       "check": "waiting",
         *       "expires_at": "2026-11-19T02:11:21.957Z",
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "name": "beach.jpg",
         *       "put": {
         *         "headers": {
         *           "Content-Type": "image/jpeg"
         *         },
         *         "url": "https://tidings-media.s3.eu-central-1.amazonaws.com/…"
         *       },
         *       "size": 4,
         *       "state": "pending",
         *       "type": "image/jpeg"
         *     }
         */
        UploadResponse: {
            /** Chat */
            chat: string;
            /**
             * Check
             * @description Whether the media worker has processed the file.
             * @enum {string}
             */
            check: "waiting" | "ready" | "refused";
            /**
             * Expires At
             * @description The upload is deleted if no message refers to it by then.
             */
            expires_at?: string | null;
            /** Id */
            id: string;
            /**
             * Name
             * @description The name without paths and control characters.
             */
            name: string;
            /** Part Bytes */
            part_bytes?: number | null;
            /** Part Count */
            part_count?: number | null;
            put?: components["schemas"]["SignedRequestResponse"] | null;
            /**
             * Reason
             * @description Why the file was refused.
             */
            reason?: string | null;
            /**
             * Received
             * @description Parts that the bucket has, to resume an upload.
             */
            received?: components["schemas"]["ReceivedPart"][] | null;
            /** Size */
            size: number;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "uploaded" | "attached" | "deleting";
            /** Type */
            type: string;
        };
        /**
         * UserResponse
         * @description A user. Only the user and the tenant's server see the fields from `phone` on, except `created_at`.
         * @example {
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "display_name": "Anna",
         *       "id": "anna"
         *     }
         */
        UserResponse: {
            /** Avatar Uri */
            avatar_uri?: string | null;
            /** Created At */
            created_at?: string | null;
            /** Display Name */
            display_name?: string | null;
            /** Email */
            email?: string | null;
            /**
             * Email Refused
             * @description Why no mail is sent to the address. A new address removes it.
             */
            email_refused?: ("bounce" | "complaint") | null;
            /** Id */
            id: string;
            /** Last Seen */
            last_seen?: ("members" | "nobody") | null;
            /** Locale */
            locale?: string | null;
            /** Phone */
            phone?: string | null;
            /** Phone Search */
            phone_search?: ("everyone" | "nobody") | null;
            /** Suspended At */
            suspended_at?: string | null;
        };
        /**
         * UsersResponse
         * @description The requested users, without those that do not exist.
         * @example {
         *       "users": [
         *         {
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "display_name": "Anna",
         *           "id": "anna"
         *         }
         *       ]
         *     }
         */
        UsersResponse: {
            /** Users */
            users: components["schemas"]["UserResponse"][];
        };
        /**
         * WatermarkBody
         * @example {
         *       "sequence": 7
         *     }
         */
        WatermarkBody: {
            /**
             * Sequence
             * @description The number of an entry in the chat's log.
             * @example 7
             */
            sequence: number;
        };
        /**
         * WatermarkResponse
         * @description The watermark after the request, which may be higher than requested, and the unread count.
         * @example {
         *       "sequence": 7,
         *       "unread": 0
         *     }
         */
        WatermarkResponse: {
            /** Sequence */
            sequence: number;
            /** Unread */
            unread: number;
        };
        /**
         * WebhookAttemptResponse
         * @description The answer to a test. `reason` is given if it failed.
         * @example {
         *       "event": "evt_0123456789abcdef0123456789abcdef",
         *       "is_delivered": true,
         *       "latency_ms": 12,
         *       "status": 204
         *     }
         */
        WebhookAttemptResponse: {
            /** Event */
            event: string;
            /** Is Delivered */
            is_delivered: boolean;
            /** Latency Ms */
            latency_ms: number;
            /** Reason */
            reason?: string | null;
            /** Status */
            status?: number | null;
        };
        /**
         * WebhookResponse
         * @description An endpoint. `disabled_reason` says why it was disabled automatically.
         * @example {
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "description": "",
         *       "events": [
         *         "message.created"
         *       ],
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "status": "enabled",
         *       "updated_at": "2026-11-15T02:11:21.957Z",
         *       "url": "https://app.example/tidings"
         *     }
         */
        WebhookResponse: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            /** Description */
            description: string;
            /** Disabled At */
            disabled_at?: string | null;
            /** Disabled Reason */
            disabled_reason?: string | null;
            /** Events */
            events: components["schemas"]["EventTypeName"][];
            /** Id */
            id: string;
            status: components["schemas"]["StatusName"];
            /**
             * Updated At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            updated_at: string;
            /** Url */
            url: string;
        };
        /**
         * WebhookSecretResponse
         * @description An endpoint with its new secret, which is not shown again.
         * @example {
         *       "created_at": "2026-11-15T02:11:21.957Z",
         *       "description": "",
         *       "events": [
         *         "message.created"
         *       ],
         *       "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *       "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
         *       "status": "enabled",
         *       "updated_at": "2026-11-15T02:11:21.957Z",
         *       "url": "https://app.example/tidings"
         *     }
         */
        WebhookSecretResponse: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            created_at: string;
            /** Description */
            description: string;
            /** Disabled At */
            disabled_at?: string | null;
            /** Disabled Reason */
            disabled_reason?: string | null;
            /** Events */
            events: components["schemas"]["EventTypeName"][];
            /** Id */
            id: string;
            /**
             * Secret
             * @description Verifies the signatures of events.
             */
            secret: string;
            status: components["schemas"]["StatusName"];
            /**
             * Updated At
             * Format: date-time
             * @example 2026-11-15T02:11:21.957Z
             */
            updated_at: string;
            /** Url */
            url: string;
        };
        /**
         * WebhooksResponse
         * @example {
         *       "endpoints": [
         *         {
         *           "created_at": "2026-11-15T02:11:21.957Z",
         *           "description": "",
         *           "events": [
         *             "message.created"
         *           ],
         *           "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
         *           "status": "enabled",
         *           "updated_at": "2026-11-15T02:11:21.957Z",
         *           "url": "https://app.example/tidings"
         *         }
         *       ]
         *     }
         */
        WebhooksResponse: {
            /** Cursor */
            cursor?: string | null;
            /** Endpoints */
            endpoints: components["schemas"]["WebhookResponse"][];
        };
        /**
         * WebPushBody
         * @description A subscription of a browser: the result of `PushSubscription.toJSON()`.
         * @example {
         *       "endpoint": "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABm",
         *       "keys": {
         *         "auth": "BTBZMqHH6r4Tts7J_aSIgg",
         *         "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
         *       }
         *     }
         */
        WebPushBody: {
            /** Endpoint */
            endpoint: string;
            /**
             * Expirationtime
             * @description Ignored.
             */
            expirationTime?: number | null;
            keys: components["schemas"]["WebPushKeysBody"];
            /**
             * Server Key
             * @description The `applicationServerKey` that the browser subscribed with. By default the newest key.
             */
            server_key?: string | null;
        };
        /**
         * WebPushKeyResponse
         * @description The key that a browser subscribes with.
         * @example {
         *       "public_key": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
         *     }
         */
        WebPushKeyResponse: {
            /**
             * Public Key
             * @description Pass it to `pushManager.subscribe` as `applicationServerKey`.
             */
            public_key: string;
        };
        /** WebPushKeysBody */
        WebPushKeysBody: {
            /** Auth */
            auth: string;
            /** P256Dh */
            p256dh: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The `Request-Id` of the request if it has at most 64 letters, digits, `.`, `_` and `-`; otherwise a generated id. */
        RequestId: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    legacy_send: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description The tenant of the credential. */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegacyNotificationBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LegacySentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found`, `segment_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large`, `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_invalid` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    legacy_redact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description The tenant of the credential. */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegacyNotificationIdBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LegacyRedactedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    legacy_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                limit: number;
                /** @description The tenant of the credential. */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LegacyRowsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    legacy_mark_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description The tenant of the credential. */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegacyMarkBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_before_send_hook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BeforeSendResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_before_send_hook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeforeSendBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BeforeSendResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_before_send_hook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_blocks: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlocksResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    block_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unblock_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_chats: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description Which chats to list. `active`: chats that are neither archived nor left. */
                filter?: "active" | "unread" | "pinned" | "muted" | "archived" | "left";
                limit?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatListResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateDirectBody"] | components["schemas"]["CreateGroupBody"];
            };
        };
        responses: {
            /** @description A retry: the first answer again. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCreatedResponse"];
                };
            };
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCreatedResponse"];
                };
            };
            /** @description A job finishes the request. */
            202: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCreatedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_full`, `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rename_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenameBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_bans: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BansResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ban_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RestrictionBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unban_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mark_delivered: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WatermarkBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WatermarkResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    invite_users: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InviteBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `banned`, `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_invite: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    join_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `banned`, `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_full`, `idempotency_conflict`, `rejoin_limit_reached`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_join_link: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinLinkResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_join_link: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_member_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A job id. */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberJobResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_members: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembersResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_members: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddMembersBody"];
            };
        };
        responses: {
            /** @description A job finishes the request. */
            202: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembersAcceptedResponse"];
                };
            };
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_full`, `idempotency_conflict`, `rejoin_limit_reached`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_member_by_phone: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMemberByPhone"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_full`, `idempotency_conflict`, `rejoin_limit_reached`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_member: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mute_member: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RestrictionBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unmute_member: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_role: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeRoleBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_messages: {
        parameters: {
            query?: {
                /** @description Return the oldest entries after this sequence. */
                after?: number;
                /** @description Return entries before and after this sequence. */
                around?: number;
                /** @description Return entries before this sequence. */
                before?: number;
                limit?: number;
                /** @description Include the delivery status of each message, which costs one more read. */
                status?: boolean;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    send_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendMessageBody"];
            };
        };
        responses: {
            /** @description A retry: the first answer again. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageSentResponse"];
                };
            };
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageSentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `chat_frozen`, `forbidden`, `muted`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `media_not_configured`, `upload_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `position_ahead`, `position_too_old`, `upload_attached`, `upload_incomplete`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large`, `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_invalid`, `message_refused`, `upload_refused` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited`, `slow_mode` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    transfer_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransferBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mark_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WatermarkBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WatermarkResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_chat_rules: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRulesBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    update_chat_settings: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatSettingsBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explain_unread: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnreadExplanationResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_content_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContentRulesBody"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_content_rules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContentRulesBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContentRulesBody"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    register_push: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A device id, chosen by the client: one per installation. */
                device: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterDeviceBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unregister_push: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A device id, chosen by the client: one per installation. */
                device: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_directory: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                /** @description List only users whose ids start with this text. */
                prefix?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DirectoryResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_bounce: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BounceBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BouncedUserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_inbox_defaults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxDefaultsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_inbox_defaults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InboxDefaultsBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxDefaultsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_inboxes: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxesResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_inbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_inbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InboxBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    archive_notifications: {
        parameters: {
            query?: {
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotificationIdsBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    estimate_broadcast: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EstimateBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EstimateResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `segment_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    send_broadcast: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateBroadcastBody"];
            };
        };
        responses: {
            /** @description A retry: the first answer again. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BroadcastCreatedResponse"];
                };
            };
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BroadcastCreatedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found`, `segment_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large`, `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_invalid` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_broadcast: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BroadcastResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    halt_broadcast: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BroadcastResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ramp_broadcast: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RampBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BroadcastResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_readers: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadersResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    count_notifications: {
        parameters: {
            query?: {
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
            };
            header?: {
                /** @description The `ETag` of a previous answer. */
                "if-none-match"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description The counts have not changed since the answer with this `ETag`. */
            304: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_email: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailConfigResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_email: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailConfigBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailConfigResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_notifications: {
        parameters: {
            query?: {
                /** @description List archived notifications instead. */
                archived?: boolean;
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
                category?: string;
                cursor?: string;
                limit?: number;
                /** @description List only unread notifications. */
                unread?: boolean;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationsResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    send_notification: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendNotificationBody"];
            };
        };
        responses: {
            /** @description A retry: the first answer again. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSentResponse"];
                };
            };
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large`, `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_invalid` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redact_notification: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationRecalledResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    amend_notification: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AmendNotificationBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationAmendedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large`, `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_invalid` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_recipients: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallProofsResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_notification_pushes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A notification id. */
                notification: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PushResultsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_preferences: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreferencesResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_preferences: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePreferencesBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreferencesResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mark_notifications_read: {
        parameters: {
            query?: {
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MarkReadBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    restore_notifications: {
        parameters: {
            query?: {
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotificationIdsBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mark_notifications_seen: {
        parameters: {
            query?: {
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    find_notification: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the notification in your system. */
                host_system_id: string;
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationLookupResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found`, `notification_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    mark_notifications_unread: {
        parameters: {
            query?: {
                /** @description Include broadcasts up to this sequence, from a previous answer. Without it, the answer may be up to a second old. */
                at_least?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description Name of an inbox. */
                inbox: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotificationIdsBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `position_ahead`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_user_emails: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailResultsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explain_counts: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplainCountsResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_user_preferences: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreferencesResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_user_preferences: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of an inbox. */
                inbox: string;
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePreferencesBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreferencesResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `inbox_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_invites: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitesResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    decline_invite: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `invite_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    accept_invite: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A chat id. */
                chat: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `banned`, `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `invite_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_full`, `idempotency_conflict`, `rejoin_limit_reached`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobsResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A job id. */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A job id. */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A job id. */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A job id. */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    request_code: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestCodeBody"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CodeSentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `phone_login_off` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redeem_code: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RedeemCodeBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    refresh_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random key for this refresh. A retry with the same key returns the same tokens. A refresh token that is used again without the key, or with another one, was copied, and its session ends. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokensResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_me: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    update_me: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OwnProfile"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_badge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BadgeResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_push_preferences: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PushPreferencesBody"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_push_preferences: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PushPreferencesBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntryResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redact_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageChangedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `chat_frozen`, `forbidden`, `muted`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `no_change`, `position_ahead`, `position_too_old`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    edit_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditMessageBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageChangedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `chat_frozen`, `forbidden`, `muted`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `position_ahead`, `position_too_old`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_too_large`, `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `content_invalid`, `message_refused` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_attachment: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
                /** @description The id of an upload. */
                upload: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttachmentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `message_not_found`, `upload_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `upload_processing` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `upload_refused` */
            422: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_link_preview: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkPreviewResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_pushes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PushResultsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_reaction: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description An emoji of at most 32 bytes, without spaces. */
                emoji: string;
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageChangedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `chat_frozen`, `forbidden`, `muted`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `no_change`, `position_ahead`, `position_too_old`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_reaction: {
        parameters: {
            query?: never;
            header?: {
                /** @description An idempotency key, used if the body has no `client_message_id`. If both are given, they must be equal. */
                "Idempotency-Key"?: string;
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description An emoji of at most 32 bytes, without spaces. */
                emoji: string;
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageChangedResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `chat_frozen`, `forbidden`, `muted`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `no_change`, `position_ahead`, `position_too_old`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_message_status: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A message id: chat id and sequence, separated by a dot. */
                message: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageStatusResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `message_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_web_push_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebPushKeyResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `push_not_configured` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_reviews: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                /** @description Only reviews in this state. `applying`: the decision was not carried out completely. */
                state?: "open" | "applying" | "decided";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewsResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_review: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a review: `m.` and a message id, or `u.` and a user id. */
                review: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewDetailsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `review_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `decryption_failed`, `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    decide_review: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a review: `m.` and a message id, or `u.` and a user id. */
                review: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `message_not_found`, `review_not_found`, `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `idempotency_conflict`, `review_decided`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    search_messages: {
        parameters: {
            query?: {
                /** @description Only messages that were sent at this time or later. */
                after?: string;
                /** @description Only messages that were sent before this time. */
                before?: string;
                /** @description Only messages in this chat. */
                chat?: string;
                cursor?: string;
                /** @description Only messages of this user. */
                from?: string;
                /** @description Only messages with attachments. */
                has?: "attachment";
                limit?: number;
                /** @description Words that the message must have, in any order. Case and accents do not matter. `lun*` finds all words that start with `lun`. It can be left out if `has` is given. */
                q?: string;
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden`, `search_off` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_segments: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SegmentsResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_segment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of a segment. */
                segment: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SegmentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `segment_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_segment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of a segment. */
                segment: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SegmentBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SegmentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    activate_segment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of a segment. */
                segment: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActivateVersionBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SegmentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `segment_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    upload_segment_users: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of a segment. */
                segment: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SegmentUsersBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SegmentResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_sessions: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_sessions: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start_upload: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartUploadBody"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `blocked`, `forbidden`, `not_a_member` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `chat_not_found`, `media_not_configured` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `storage_full` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large`, `upload_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_upload: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description The id of an upload. */
                upload: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `upload_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_upload: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description The id of an upload. */
                upload: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `upload_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `upload_attached`, `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    complete_upload: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description The id of an upload. */
                upload: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteUploadBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `upload_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `upload_incomplete` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_parts: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description The id of an upload. */
                upload: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignPartsBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedPartsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `upload_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    find_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FindUserBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_users: {
        parameters: {
            query: {
                /** @description Up to 100 ids: `ids=anna&ids=ben`. */
                ids: string[];
            };
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsersResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUserBody"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `phone_taken`, `user_exists` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    erase_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    update_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateUserBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_erasure: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    decide_erasure: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ErasureDecisionBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `no_change` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_export: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `job_not_found`, `media_not_configured` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    export_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `media_not_configured`, `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_presence: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PresenceResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_profile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    set_profile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProfileBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user to act for. Requires an API key with the scope `act_as_user`. */
                "Tidings-User"?: string;
            };
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_erased` */
            410: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_user_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    end_user_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    suspend_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unsuspend_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A user id. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `user_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhooksResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhookBody"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecretResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhookBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_webhook_deliveries: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveriesResponse"];
                };
            };
            /** @description `cursor_invalid`, `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_webhook_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replay_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayBody"];
            };
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotate_webhook_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateSecretBody"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecretResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `write_conflict` */
            409: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `request_too_large` */
            413: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAttemptResponse"];
                };
            };
            /** @description `request_invalid` */
            400: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `credential_expired`, `credential_invalid` */
            401: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `forbidden` */
            403: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `webhook_not_found` */
            404: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `rate_limited` */
            429: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `internal` */
            500: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description `keys_unavailable`, `outcome_unknown`, `overloaded` */
            503: {
                headers: {
                    "Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
