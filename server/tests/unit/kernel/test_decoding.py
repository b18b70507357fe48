"""Invalid bytes raise one error, also from the decoders of Redis messages."""

from collections.abc import Callable

import msgspec
import pytest

from tidings.bus import model
from tidings.ephemeral import model as signs
from tidings.kernel.errors import wrap_decoder

NO_TEXT = msgspec.msgpack.encode(["typing", "typing"]).replace(b"typing", b"\xff" * 6)
texts = wrap_decoder(msgspec.msgpack.Decoder(list[str]).decode, msgspec.DecodeError)


def test_a_valid_payload_is_decoded() -> None:
    assert texts(msgspec.msgpack.encode(["anna"])) == ["anna"]


@pytest.mark.parametrize("payload", [b"", b"\xc1", NO_TEXT])
@pytest.mark.parametrize("decode", [texts, model.decode_messages, signs.decode_event])
def test_every_invalid_payload_raises_decode_error(decode: Callable[[bytes], object], payload: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(payload)
