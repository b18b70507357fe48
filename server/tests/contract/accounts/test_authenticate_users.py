"""The Python code of the how-to guide mints tokens that Tidings accepts."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.memory_accounts import MemorySigningKeyStore, PublishedKeys
from fixtures.memory_tenants import MemoryTenantStore

from tidings.accounts.credentials import TokenPolicy, UserTokenVerifier
from tidings.accounts.signing_keys import make_pair
from tidings.accounts.verification_keys import VerificationKeys
from tidings.kernel.clock import SystemClock
from tidings.tenants.settings import TenantReader

PAGE = Path(__file__).parents[4] / "docs/howto/authenticate-users.md"


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A key in the file where the page has it."""
    monkeypatch.chdir(tmp_path)
    made = make_pair("Ed25519")
    Path("acme-key.json").write_text(json.dumps(made))
    return made


@pytest.fixture
def token_for(pair: dict[str, str]) -> Callable[[str], str]:
    assert pair
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Callable[[str], str]] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names["token_for"]


async def test_the_commands_of_the_how_to_create_a_valid_token(
    pair: dict[str, str], token_for: Callable[[str], str]
) -> None:
    tenants, keys, clock = MemoryTenantStore(), MemorySigningKeyStore(), SystemClock()
    tenants.put("acme")
    keys.register("acme", pair)
    users = UserTokenVerifier(
        TenantReader(tenants, clock),
        VerificationKeys(keys, PublishedKeys().fetch, clock),
        clock,
        TokenPolicy(),
    )
    assert (await users.verify(token_for("anna"))).user == "anna"
