"""Chat settings accept times as text only, not numbers."""

import pytest
from pydantic import ValidationError

from tidings.api.schemas.chat_list import ChatSettingsBody


@pytest.mark.parametrize(
    "value", [0, 1.5, True, "0", "1765000000", "2026-12-31", "2026-12-31T00:00:00", "soon"]
)
def test_a_number_is_not_a_time_with_or_without_quotes(value: object) -> None:
    with pytest.raises(ValidationError):
        ChatSettingsBody.model_validate({"muted_until": value})


@pytest.mark.parametrize("value", ["2026-12-31T00:00:00Z", "2026-12-31t01:00:00.000+01:00"])
def test_a_time_with_an_offset_is_accepted(value: str) -> None:
    assert ChatSettingsBody.model_validate({"muted_until": value}).flags().muted_until_ms == 1_798_675_200_000
