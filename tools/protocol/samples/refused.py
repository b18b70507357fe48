"""Invalid frames, each with the error code of its answer."""

from typing import Final

from tidings.kernel.errors import Code
from tools.protocol.samples.requests import Sample, sample

_INVALID = Code.REQUEST_INVALID.value
_SEND = '{"id":7,"send":{"chat":"dMFRGGZDFMZTWQ2LKNNWG23TP","client_message_id":"k"'


def _bad(name: str, means: str, text: str, code: str = _INVALID) -> Sample:
    return sample(name, means, text, code=code)


REFUSED: Final = (
    _bad("empty", "Nothing at all.", ""),
    _bad("not_json", "Not JSON.", "hello"),
    _bad("cut_off", "JSON that ends too early; the answer has the id, because it comes first.", _SEND),
    _bad("two_documents", "One frame is one object.", '{"ping":{}}{"ping":{}}'),
    _bad("list", "A list is not a frame.", '[{"ping":{}}]'),
    _bad("no_kind", "An id and nothing else.", '{"id":7}'),
    _bad("two_kinds", "One frame is one request.", '{"id":7,"ping":{},"pong":{}}'),
    _bad("null_body", "A body is an object.", '{"id":7,"send":null}'),
    _bad("id_zero", "Ids begin with 1.", '{"id":0,"ping":{}}'),
    _bad("id_null", "No id is no `id`.", '{"id":null,"ping":{}}'),
    _bad("id_text", "An id is a number.", '{"id":"7","ping":{}}'),
    _bad("id_huge", "An id is at most 2**53 - 1.", '{"id":9007199254740992,"ping":{}}'),
    _bad(
        "id_missing", "A send without an id could not be answered.", _SEND[:1] + _SEND[8:] + ',"text":"hi"}}'
    ),
    _bad("unknown_kind", "A request of a later protocol.", '{"id":7,"dance":{}}', Code.UNKNOWN_REQUEST.value),
    _bad(
        "unknown_field",
        "A misspelt field is not ignored: this message would never expire.",
        _SEND + ',"ttl_second":60}}',
    ),
    _bad(
        "unknown_beside",
        "A frame has no other fields than the id and the request.",
        '{"id":7,"ping":{},"trace":"x"}',
    ),
    _bad("field_missing", "No chat.", '{"id":7,"send":{"client_message_id":"k","text":"hi"}}'),
    _bad("wrong_type", "A text is a string.", _SEND + ',"text":5}}'),
    _bad("sequence_zero", "Sequences begin with 1.", '{"id":7,"read":{"chat":"d","sequence":0}}'),
    _bad("sequence_fraction", "Sequences are whole numbers.", '{"id":7,"read":{"chat":"d","sequence":1.5}}'),
    _bad(
        "chat_with_sign",
        "Characters that separate the parts of keys are refused.",
        '{"id":7,"history":{"chat":"a#b"}}',
    ),
    _bad(
        "chat_too_long", "An id has at most 64 characters.", '{"id":7,"history":{"chat":"' + "d" * 65 + '"}}'
    ),
    _bad(
        "chat_with_line_feed",
        "A line feed is refused, even at the end.",
        '{"id":7,"history":{"chat":"d\\n"}}',
    ),
    _bad(
        "two_places", "Only one position in the log.", '{"id":7,"history":{"chat":"d","before":9,"after":3}}'
    ),
    _bad("page_too_large", "At most 200 entries.", '{"id":7,"history":{"chat":"d","limit":201}}'),
    _bad("ack_of_nothing", "An ack names at least one chat.", '{"id":7,"ack":{"delivered":{}}}'),
    _bad("unknown_status", "No such status.", '{"id":7,"presence":{"status":"asleep"}}'),
    _bad("half_a_character", "Half of a surrogate pair is not a character.", _SEND + ',"text":"\\ud83d"}}'),
    _bad("not_a_number", "NaN is not JSON.", _SEND + ',"data":{"x":NaN}}}'),
    _bad("number_out_of_range", "Numbers are those of a double.", _SEND + ',"data":{"x":1e999}}}'),
    _bad("too_deep", "Nested more than 12 deep.", _SEND + ',"data":' + '{"a":' * 11 + "1" + "}" * 13),
    _bad(
        "too_deep_where_nobody_looks",
        "Also outside of `data`.",
        '{"id":7,"dance":' + "[" * 100 + "]" * 100 + "}",
    ),
    _bad("too_many", "More than 1,024 objects.", '{"id":7,"dance":[' + ",".join(["[]"] * 1025) + "]}"),
    Sample("not_utf8", "Bytes that are no UTF-8.", _SEND.encode() + b',"text":"\xff\xfe"}}', code=_INVALID),
)
