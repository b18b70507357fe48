"""Sign in at a real OpenID Connect provider, and every way to be refused."""

import json
import os
import re
import subprocess
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import httpx
import pytest
from fixtures.console_app import ConsoleApp
from fixtures.use_cases import UseCaseEnv
from msgspec.structs import replace

from tidings.kernel.clock import SystemClock
from tidings.kernel.security import Secret
from tidings.operators.oidc import LoginRefusedError, OidcLogin, OidcOptions, OidcTransport, PendingLogin
from tidings.operators.oidc_http import HttpOidcTransport, open_oidc_transport
from tidings.tenants.rules import is_tenant_id
from tools.node import node_command, node_environment

PROVIDER = "oidc-provider@9.13.3"
CONSOLE = "http://console"
REDIRECT_URI = f"{CONSOLE}/admin/v1/login/callback"


@pytest.fixture(scope="session")
def provider_home() -> Path:
    """Install the provider once, into the user's cache. Of two test processes, the first rename succeeds."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tidings"
    home = cache / PROVIDER
    if not home.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            into = Path(fresh) / "provider"
            words = [
                "install",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--prefix",
                str(into),
                PROVIDER,
            ]
            subprocess.run(
                node_command("npm", words),
                check=True,
                env=node_environment(),
                capture_output=True,
                timeout=300,
            )
            with suppress(OSError):
                into.rename(home)
    return home


@pytest.fixture(scope="module")
def issuer(provider_home: Path) -> Iterator[str]:
    script = Path(__file__).with_name("oidc_provider.mjs")
    given = {"OIDC_PROVIDER": str(provider_home), "REDIRECT_URI": REDIRECT_URI}
    with subprocess.Popen(
        node_command("node", [str(script)]),
        env=node_environment() | given,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = next(line for line in process.stdout if line.startswith("http://"))
        yield found.strip()
        process.terminate()


def options(issuer: str, client: str = "console") -> OidcOptions:
    return OidcOptions(
        issuer=issuer,
        client_id=client,
        client_secret=Secret(f"secret-of-{client}"),
        redirect_uri=REDIRECT_URI,
        scope="openid profile email",
        role_claim="tidings_role",
        tenants_claim="tidings_tenants",
    )


def login_of(issuer: str, transport: OidcTransport, client: str = "console") -> OidcLogin:
    return OidcLogin(options(issuer, client), transport, SystemClock(), is_tenant_id)


async def authenticate(url: str, account: str) -> dict[str, str]:
    """Log in at the provider's pages as a browser does, and return the query of its redirect to the console."""
    async with httpx.AsyncClient(follow_redirects=False, timeout=30) as browser:
        answer = await browser.get(url)
        for _ in range(10):
            while answer.is_redirect:
                target = str(answer.next_request.url if answer.next_request else "")
                if target.startswith(REDIRECT_URI):
                    return dict(parse_qsl(urlsplit(target).query))
                answer = await browser.get(target)
            form = re.search(r'action="([^"]+)"', answer.text)
            prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
            assert form, answer.text
            assert prompt, answer.text
            filled = {"prompt": prompt[1], "login": account, "password": "any"}
            answer = await browser.post(form[1], data=filled)
    raise AssertionError("the provider did not redirect to the console")


@asynccontextmanager
async def pending_login(
    issuer: str, account: str = "ada:owner:*"
) -> AsyncIterator[tuple[HttpOidcTransport, PendingLogin, dict[str, str]]]:
    async with open_oidc_transport() as transport:
        url, pending = await login_of(issuer, transport).start("/users")
        yield transport, pending, await authenticate(url, account)


async def refusal(login: OidcLogin, pending: PendingLogin | None, query: Mapping[str, str]) -> str:
    with pytest.raises(LoginRefusedError) as refused:
        await login.finish(pending, query)
    return f"{refused.value.code}: {refused.value}"


async def test_an_operator_signs_in_with_the_role_and_tenants_of_the_token(
    use_cases: UseCaseEnv, issuer: str
) -> None:
    async with open_oidc_transport() as transport:
        console = ConsoleApp(use_cases, login_of(issuer, transport))
        await console.create_tenant()
        asgi = httpx.ASGITransport(app=console.app)
        async with httpx.AsyncClient(transport=asgi, base_url=CONSOLE) as browser:
            started = await browser.get("/admin/v1/login?return_to=/users")
            asked = parse_qs(urlsplit(started.headers["location"]).query)
            assert asked["code_challenge_method"] == ["S256"]
            assert asked["redirect_uri"] == [REDIRECT_URI]
            query = await authenticate(started.headers["location"], f"grace:support:{console.tenant}")
            done = await browser.get("/admin/v1/login/callback", params=query)
            assert (done.status_code, done.headers["location"]) == (303, "/users")
            session = (await browser.get("/admin/v1/session")).json()
            again = await browser.get("/admin/v1/login/callback", params=query)
            assert again.headers["location"] == "/?sign_in_error=login_expired", "a login is finished once"
    operator = session["operator"]
    assert (session["role"], session["tenants"]) == ("support", [console.tenant])
    assert (operator["name"], operator["email"]) == ("grace", "grace@example.com")
    assert operator["id"] == f"oidc:grace:support:{console.tenant}"


@pytest.mark.parametrize("account", ["eve", "eve:admin:*", "eve:owner", "eve:owner:Not#a#tenant"])
async def test_an_account_without_a_role_or_tenants_is_refused(issuer: str, account: str) -> None:
    async with pending_login(issuer, account) as (transport, pending, query):
        assert (await refusal(login_of(issuer, transport), pending, query)).startswith("no_role")


async def test_a_callback_of_another_browser_is_refused(issuer: str) -> None:
    """Otherwise an attacker could sign a victim in as the attacker."""
    async with pending_login(issuer) as (transport, pending, query):
        login = login_of(issuer, transport)
        assert (await refusal(login, None, query)).startswith("login_expired")
        _, other = await login.start("/")
        assert "state is of another login" in await refusal(login, other, query)
        assert "another issuer" in await refusal(login, pending, query | {"iss": "https://evil.example"})
        stale = replace(pending, expires_at_ms=SystemClock().now_ms() - 1)
        assert (await refusal(login, stale, query)).startswith("login_expired")
        assert "answered access_denied" in await refusal(
            login, pending, {"state": pending.state, "error": "access_denied"}
        )
        assert (await login.finish(pending, query)).id == "oidc:ada:owner:*"


async def test_a_stolen_code_is_useless_without_the_verifier(issuer: str) -> None:
    async with pending_login(issuer) as (transport, pending, query):
        thief = replace(pending, verifier="A" * 64)
        assert "answered 400 invalid_grant" in await refusal(login_of(issuer, transport), thief, query)


class SwappedToken:
    """The provider's transport, with the ID token replaced."""

    def __init__(self, inner: HttpOidcTransport, swap: Any) -> None:
        self._inner, self._swap = inner, swap

    async def get(self, url: str, /) -> Mapping[str, Any]:
        return await self._inner.get(url)

    async def post(
        self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None, /
    ) -> tuple[int, Mapping[str, Any]]:
        status, answer = await self._inner.post(url, form, basic)
        return status, {**answer, "id_token": self._swap(answer["id_token"])}


async def id_token(issuer: str, transport: HttpOidcTransport, client: str, nonce: str) -> str:
    """Return an ID token that the provider issued to a client with this nonce."""
    kept: list[str] = []

    def keep(token: str) -> str:
        kept.append(token)
        return token

    login = login_of(issuer, SwappedToken(transport, keep), client)
    url, pending = await login.start("/")
    parts = urlsplit(url)
    asked = urlencode(dict(parse_qsl(parts.query)) | {"nonce": nonce})
    query = await authenticate(urlunsplit(parts._replace(query=asked)), "eve:owner:*")
    with suppress(LoginRefusedError):
        await login.finish(replace(pending, nonce=nonce), query)
    return kept[0]


@pytest.mark.parametrize(
    ("client", "has_nonce", "reason"),
    [("console", False, "nonce"), ("other", True, "aud"), ("console", True, None)],
)
async def test_an_id_token_of_another_login_or_client_is_refused(
    issuer: str, client: str, reason: str | None, *, has_nonce: bool
) -> None:
    async with pending_login(issuer) as (transport, pending, query):
        token = await id_token(issuer, transport, client, pending.nonce if has_nonce else "another-nonce")
        login = login_of(issuer, SwappedToken(transport, lambda _: token))
        if reason is None:
            assert (await login.finish(pending, query)).id == "oidc:eve:owner:*", (
                "only the swap is tested above"
            )
        else:
            assert reason in await refusal(login, pending, query)


def tampered(token: str) -> str:
    """Make the operator an owner of all tenants, without a new signature."""
    head, body, signature = token.split(".")
    claims = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    changed = claims | {"tidings_role": "owner", "tidings_tenants": ["*"]}
    return f"{head}.{urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip('=')}.{signature}"


def unsigned(token: str) -> str:
    head = urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return f"{head}.{token.split('.')[1]}."


@pytest.mark.parametrize("swap", [tampered, unsigned])
async def test_an_id_token_without_a_valid_signature_is_refused(issuer: str, swap: Any) -> None:
    async with pending_login(issuer, "eve:viewer:acme") as (transport, pending, query):
        login = login_of(issuer, SwappedToken(transport, swap))
        assert "the ID token is refused" in await refusal(login, pending, query)
