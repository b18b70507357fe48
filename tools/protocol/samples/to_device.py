"""Answers and pushes, from the server to the device."""

from typing import Final

from tools.protocol.samples.requests import sample

ANSWERS: Final = (
    sample(
        "welcome",
        "The device is authenticated. The server sends a heartbeat at least every 25 seconds.",
        '{"id":1,"ok":{"protocol":1,"user":"anna","device":"phone-1","epoch":0,"at":1763184000000,'
        '"heartbeat_s":25,"limits":{"frame_bytes":65536,"in_flight":32,"frames_per_s":50,"burst":100},'
        '"expires_at":1763187600000}}',
        answers="connect",
    ),
    sample(
        "resumed_answer",
        "All missed entries were pushed.",
        '{"id":2,"ok":{"epoch":0}}',
        answers="resume",
    ),
    sample("sent", "The message is committed at 42.", '{"id":7,"ok":{"sequence":42}}', answers="send"),
    sample(
        "sent_before",
        "A repeat. The first try committed the message at 42.",
        '{"id":7,"ok":{"sequence":42,"is_repeat":true}}',
        answers="send",
    ),
    sample(
        "edited",
        "The edit is an entry with its own sequence, 43.",
        '{"id":11,"ok":{"sequence":43}}',
        answers="edit",
    ),
    sample(
        "history_page",
        "The entries in (39, 42], newest first. The user's own message has its `client_message_id`.",
        '{"id":15,"ok":{"after":39,"up_to":42,"entries":[{"sequence":42,"by":"anna","at":1763184002000,'
        '"text":"Hello, Ben!","client_message_id":"01JCQ4Z7N3V5X9B2M8K6T1R0WD"},{"sequence":41,"by":"ben",'
        '"at":1763184001000,"text":"Hi","reactions":[{"emoji":"👍","count":1,"users":["anna"]}]},{"sequence":40,'
        '"by":"ben","at":1763184000000,"state":"redacted","redacted_at":1763184000500}],"has_older":true}}',
        answers="history",
    ),
    sample(
        "inbox_counts",
        "Three notifications are unread. One of them arrived after the user last looked at the inbox. `next_change_at` is the time of the next expiry.",
        '{"id":23,"ok":{"inbox":"default","version":17,"at":1763184000000,"unread":3,"unseen":1,'
        '"categories":{"news":2,"orders":1},"next_change_at":1763187600000,"broadcasts_up_to":17}}',
        answers="counts",
    ),
    sample(
        "notification_page",
        "The only notification of the inbox.",
        '{"id":24,"ok":{"notifications":[{"id":"01JCQ4Z7N3V5X9B2M8K6T1R0WD","at":1763183999000,"delivered_at":1763184000000,'
        '"message":{"title":"New feature"},"category":"news","is_seen":true}],"counts":{"inbox":"default",'
        '"version":17,"at":1763184000000,"unread":1,"categories":{"news":1}}}}',
        answers="notifications",
    ),
    sample(
        "inbox_preferences",
        "The user has switched e-mail off. They cannot change the channels of a critical category.",
        '{"id":28,"ok":{"inbox":"default","channels":{"inbox":true,"push":true,"email":false,"webhook":true},'
        '"chosen":{"email":false},"categories":[{"name":"security",'
        '"channels":{"inbox":true,"push":true,"email":true,"webhook":true},"is_critical":true}]}}',
        answers="preferences",
    ),
    sample(
        "stored_push_preferences",
        "The user wants mentions only, and none at night.",
        '{"id":31,"ok":{"notify":"mentions","time_zone":"Europe/Berlin","quiet_hours":{"start":"22:00","end":"07:00","days":[4,5]}}}',
        answers="push_preferences",
    ),
    sample(
        "key_for_browsers",
        "The key that browsers subscribe with.",
        '{"id":33,"ok":{"public_key":"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"}}',
        answers="web_push_key",
    ),
    sample(
        "badge_of_five",
        "Three unread messages in two chats, and two unread notifications.",
        '{"id":34,"ok":{"badge":5,"messages":3,"chats":2,"notifications":2}}',
        answers="badge",
    ),
    sample("done", "The request was applied.", '{"id":19,"ok":{}}', answers="read"),
    sample(
        "refused",
        "A refused request. A retry does not help.",
        '{"id":7,"error":{"code":"not_a_member","message":"The user is not a member of this chat.",'
        '"docs":"/errors/not_a_member"}}',
    ),
    sample(
        "refused_for_now",
        "A refused request. A retry can succeed later.",
        '{"id":7,"error":{"code":"rate_limited","message":"Too many frames.","retryable":true,'
        '"docs":"/errors/rate_limited","retry_after_ms":420}}',
    ),
)

PUSHES: Final = (
    sample(
        "entry",
        "A new message. Its id is `dMFRGGZDFMZTWQ2LKNNWG23TP.43`.",
        '{"entry":{"sequence":43,"by":"ben","at":1763184003000,"text":"How are you?",'
        '"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP"}}',
    ),
    sample(
        "entry_edit",
        "The message at 43 has a new text. `changed` is its current state.",
        '{"entry":{"sequence":44,"by":"ben","at":1763184004000,"kind":"edit","refers_to":43,"changed":{"text":'
        '"How are you, Anna?","edited_at":1763184004000},"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP"}}',
    ),
    sample(
        "entry_join",
        "Two users joined a group.",
        '{"entry":{"sequence":8,"by":"anna","at":1763184004000,"kind":"join","users":["cleo","dora"],'
        '"member_count":4,"chat":"gLAJWK6M7H3QFQ3PWXCZ5GZQD"}}',
    ),
    sample(
        "entries",
        "Missed entries, oldest first. The device's new position in the chat is 44.",
        '{"entries":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","after":41,"up_to":44,"entries":[{"sequence":42,"by":"anna",'
        '"at":1763184002000,"text":"Hello, Ben!","client_message_id":"01JCQ4Z7N3V5X9B2M8K6T1R0WD"},{"sequence":43,'
        '"by":"ben","at":1763184003000,"text":"How are you?"},{"sequence":44,"by":"ben","at":1763184004000,'
        '"kind":"edit","refers_to":43}]}}',
    ),
    sample(
        "chat",
        "The row of a chat that the device does not have.",
        '{"chat":{"chat":"gLAJWK6M7H3QFQ3PWXCZ5GZQD","head":9,"unread":3,"read":5,"name":"us","at":1763184004000,'
        '"by":"cleo","preview":"see you","last":9}}',
    ),
    sample(
        "chats",
        "Rows of chats that the device does not have, newest activity first.",
        '{"chats":{"rows":[{"chat":"gLAJWK6M7H3QFQ3PWXCZ5GZQD","head":9,"unread":3,"read":5,"name":"us",'
        '"at":1763184004000,"by":"cleo","preview":"see you","last":9},{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP",'
        '"head":44,"members":["ben"],"at":1763184003000,"by":"ben","last":43,"state":"redacted"}]}}',
    ),
    sample("resumed", "All missed entries were pushed. The connection is live.", '{"resumed":{"epoch":0}}'),
    sample(
        "resumed_reset",
        "The installation was restored, and the device's positions are not valid.",
        '{"resumed":{"epoch":1,"is_reset":true}}',
    ),
    sample("resume_again", "Pushes may have been missed: send `resume`.", '{"resume":{}}'),
    sample(
        "inbox",
        "A notification was added, and another one was recalled.",
        '{"inbox":{"counts":{"inbox":"default","version":18,"at":1763184001000,"unread":1,"unseen":1},'
        '"added":[{"id":"01JCQ4Z7N3V5X9B2M8K6T1R0WD","at":1763184000900,"delivered_at":1763184001000,'
        '"message":{"title":"New feature"}}],"removed":["01JCQ4Z7N3V5X9B2M8K6T1R0WC"]}}',
    ),
    sample(
        "inbox_again",
        "The counts after a resume. The client reads the list again, because changes during the interruption are not sent.",
        '{"inbox":{"counts":{"inbox":"default","version":20,"at":1763184002000},"has_more":true}}',
    ),
    sample(
        "broadcast",
        "A broadcast was added at 17 of the inbox's broadcast log. A client that shows a count requests `counts`.",
        '{"broadcast":{"inbox":"default","up_to":17,"added":[{"id":"01JCQ4Z7N3V5X9B2M8K6T1R0WE","at":1763184003000,'
        '"delivered_at":1763184003000,"message":{"title":"We are back"},"category":"news"}]}}',
    ),
    sample(
        "broadcast_gone",
        "The broadcast was recalled.",
        '{"broadcast":{"inbox":"default","up_to":18,"removed":["01JCQ4Z7N3V5X9B2M8K6T1R0WE"]}}',
    ),
    sample(
        "receipts",
        "Ben has read up to 42.",
        '{"receipts":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","members":[{"user":"ben","delivered":42,"read":42}]}}',
    ),
    sample("typing_push", "Ben is typing.", '{"typing":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","user":"ben"}}'),
    sample(
        "presence_push",
        "Ben is offline.",
        '{"presence":{"user":"ben","status":"offline","at":1763184005000}}',
    ),
    sample(
        "reconnect",
        "The server process is stopping. Reconnect after a random delay of 2 to 32 seconds.",
        '{"reconnect":{"retry_after_ms":2000,"spread_ms":30000,"reason":"draining"}}',
    ),
    sample("ping_push", "The heartbeat. Answer with `pong`.", '{"ping":{}}'),
    sample(
        "error_push",
        "An error for a frame without an id, or with an id that is in flight.",
        '{"error":{"code":"request_invalid","message":"A request with the id 7 is still being answered.",'
        '"docs":"/errors/request_invalid","request_id":7}}',
    ),
    sample(
        "push_from_the_future",
        "A push of a later protocol. A client ignores it.",
        '{"weather":{"is_fine":true}}',
    ),
)
