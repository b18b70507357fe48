"""Golden frames of requests, from the device to the server."""

from dataclasses import dataclass
from typing import Final, Literal

type Direction = Literal["to_server", "to_device"]


@dataclass(frozen=True, slots=True)
class Sample:
    """`answers`: the kind of request that an `ok` is the answer to. `code`: the error code of the answer to an invalid frame."""

    name: str
    means: str
    data: bytes
    answers: str = ""
    code: str = ""


def sample(name: str, means: str, text: str, *, answers: str = "", code: str = "") -> Sample:
    return Sample(name, means, text.encode(), answers, code)


REQUESTS: Final = (
    sample(
        "connect",
        "The first frame of a device that has no messages yet.",
        '{"id":1,"connect":{"credential":"eyJhbGciOiJFUzI1NiJ9.e30.c2ln","protocol":1,"device":"phone-1",'
        '"sdk":"tidings-python/0.1.0"}}',
    ),
    sample(
        "connect_with_positions",
        "A device reconnects: it has one chat up to 41 and another up to 7.",
        '{"id":1,"connect":{"credential":"eyJhbGciOiJFUzI1NiJ9.e30.c2ln","protocol":1,"device":"phone-1",'
        '"epoch":0,"positions":{"dMFRGGZDFMZTWQ2LKNNWG23TP":41,"gLAJWK6M7H3QFQ3PWXCZ5GZQD":7}}}',
    ),
    sample(
        "connect_from_the_future",
        "A newer client. The server ignores unknown fields of `connect`, and both use the lower protocol level.",
        '{"id":1,"connect":{"credential":"eyJhbGciOiJFUzI1NiJ9.e30.c2ln","protocol":9,"device":"phone-1",'
        '"battery":0.8}}',
    ),
    sample(
        "resume",
        "The server reported that pushes may have been missed; the device sends its positions again.",
        '{"id":2,"resume":{"positions":{"dMFRGGZDFMZTWQ2LKNNWG23TP":43},"epoch":0}}',
    ),
    sample(
        "resume_in_parts",
        "One part of more than 1,000 positions. The next part follows after the answer.",
        '{"id":3,"resume":{"positions":{"dMFRGGZDFMZTWQ2LKNNWG23TP":43},"has_more":true}}',
    ),
    sample(
        "send",
        "A message. The device had the chat up to 41 at its first try.",
        '{"id":7,"send":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"01JCQ4Z7N3V5X9B2M8K6T1R0WD",'
        '"after":41,"text":"Hello, Ben!"}}',
    ),
    sample(
        "send_everything",
        "A message with all fields: data of the app, a reply, a mention, an expiry.",
        '{"id":8,"send":{"chat":"gLAJWK6M7H3QFQ3PWXCZ5GZQD","client_message_id":"01JCQ4Z7N3V5X9B2M8K6T1R0WE",'
        '"after":7,"text":"Here @ben","data":{"location":{"lat":52.52,"lon":13.4}},"reply_to":5,'
        '"mentions":["ben"],"content_type":"application/geo+json","ttl_seconds":86400}}',
    ),
    sample(
        "send_unicode",
        "Text in UTF-8. JSON escapes are equivalent.",
        '{"id":9,"send":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k-9","after":41,'
        '"text":"Grüße 👋 \\u00e9\\n"}}',
    ),
    sample(
        "send_without_position",
        "A message of a client that keeps no positions: without `after`.",
        '{"id":10,"send":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k-10","text":"hi"}}',
    ),
    sample(
        "edit",
        "Replace the text of the message at 42.",
        '{"id":11,"edit":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k-11","after":42,'
        '"sequence":42,"text":"Hello, Ben."}}',
    ),
    sample(
        "redact",
        "Delete the content of the message at 42.",
        '{"id":12,"redact":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k-12","after":43,'
        '"sequence":42}}',
    ),
    sample(
        "react",
        "Add a reaction to the message at 41.",
        '{"id":13,"react":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k-13","after":44,'
        '"sequence":41,"emoji":"👍"}}',
    ),
    sample(
        "react_removed",
        "Remove the reaction.",
        '{"id":14,"react":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k-14","after":45,'
        '"sequence":41,"emoji":"👍","is_removed":true}}',
    ),
    sample(
        "history",
        "The newest 20 entries of a chat.",
        '{"id":15,"history":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","limit":20}}',
    ),
    sample(
        "history_before",
        "The 50 entries before 20, when the user scrolls back.",
        '{"id":16,"history":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","before":20}}',
    ),
    sample(
        "history_after",
        "The oldest entries after 41, to catch up.",
        '{"id":17,"history":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","after":41,"limit":200}}',
    ),
    sample(
        "history_around",
        "The entries around 12, for a link to a message.",
        '{"id":18,"history":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","around":12}}',
    ),
    sample(
        "ack",
        "The device has received these chats up to these sequences. No `id`: no answer is sent.",
        '{"ack":{"delivered":{"dMFRGGZDFMZTWQ2LKNNWG23TP":42,"gLAJWK6M7H3QFQ3PWXCZ5GZQD":9}}}',
    ),
    sample(
        "read",
        "The user has read the chat up to 42.",
        '{"id":19,"read":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","sequence":42}}',
    ),
    sample(
        "counts",
        "The unread counts of an inbox. From now on the connection receives its changes.",
        '{"id":23,"counts":{"inbox":"default"}}',
    ),
    sample(
        "counts_at_least",
        "The counts, including a broadcast that the device has received.",
        '{"id":23,"counts":{"inbox":"default","at_least":17}}',
    ),
    sample(
        "notifications",
        "The next unread notifications of a category.",
        '{"id":24,"notifications":{"inbox":"default","limit":5,"cursor":"01JCQ4Z7N3V5X9B2M8K6T1R0WD","category":"news",'
        '"is_unread":true}}',
    ),
    sample(
        "mark",
        "Mark one notification as read.",
        '{"id":25,"mark":{"inbox":"default","to":"read","ids":["01JCQ4Z7N3V5X9B2M8K6T1R0WD"]}}',
    ),
    sample(
        "mark_all",
        "Mark all notifications of a category as read, up to a time.",
        '{"id":26,"mark":{"inbox":"default","to":"read","before":1763184000000,"category":"news"}}',
    ),
    sample(
        "mark_seen", "The user has looked at the inbox.", '{"id":27,"mark":{"inbox":"default","to":"seen"}}'
    ),
    sample(
        "preferences",
        "Switch e-mail off for all categories, and remove the choice about push for one.",
        '{"id":28,"preferences":{"inbox":"default","channels":{"email":false},"categories":{"news":{"push":null}}}}',
    ),
    sample(
        "register_push",
        "Register the subscription of a browser.",
        '{"id":29,"register_push":{"web_push":{"endpoint":"https://push.example.com/1",'
        '"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",'
        '"auth":"BTBZMqHH6r4Tts7J_aSIgg","server_key":"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"},'
        '"locale":"de"}}',
    ),
    sample("unregister_push", "Stop push notifications of this device.", '{"id":30,"unregister_push":{}}'),
    sample("push_preferences", "Read the push preferences.", '{"id":31,"push_preferences":{}}'),
    sample(
        "set_push_preferences",
        "Notify of mentions only, and not at night.",
        '{"id":32,"set_push_preferences":{"notify":"mentions","time_zone":"Europe/Berlin",'
        '"quiet_hours":{"start":"22:00","end":"07:00","days":[4,5]}}}',
    ),
    sample("web_push_key", "Read the key for browsers.", '{"id":33,"web_push_key":{}}'),
    sample("badge", "Read the number for the app's icon.", '{"id":34,"badge":{}}'),
    sample("typing", "The user is typing.", '{"typing":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP"}}'),
    sample(
        "typing_stopped",
        "The user stopped typing.",
        '{"typing":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","is_typing":false}}',
    ),
    sample("presence", "The app went to the background.", '{"presence":{"status":"away"}}'),
    sample(
        "subscribe",
        "Subscribe to typing and receipts of a chat on the screen, and to the presence of its other member.",
        '{"id":20,"subscribe":{"chats":["dMFRGGZDFMZTWQ2LKNNWG23TP"],"users":["ben"]}}',
    ),
    sample(
        "unsubscribe", "Presence of a user is no longer needed.", '{"id":21,"unsubscribe":{"users":["ben"]}}'
    ),
    sample("ping", "Check that the server answers.", '{"id":22,"ping":{}}'),
    sample("pong", "The answer to the server's heartbeat.", '{"pong":{}}'),
)
