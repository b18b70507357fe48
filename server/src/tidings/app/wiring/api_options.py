"""The options of the REST API, from the settings."""

import secrets

from tidings.api.services import ApiOptions
from tidings.app.settings import Settings
from tidings.app.wiring.options import allowed_origins, cursor_secrets
from tidings.kernel.security import Secret
from tidings.platform.telemetry import logs

log = logs.get_logger(__name__)


def api_options(settings: Settings) -> ApiOptions:
    api = settings.api
    return ApiOptions(
        cursor_secrets=_cursor_secrets_or_random(settings),
        max_body_bytes=api.max_body_bytes,
        max_body_depth=api.max_body_depth,
        max_body_values=api.max_body_values,
        docs_root=api.docs_root,
        trust_traceparent=api.trust_traceparent,
        allowed_origins=allowed_origins(settings),
        serve_docs=api.serve_docs,
    )


def _cursor_secrets_or_random(settings: Settings) -> tuple[Secret, ...]:
    if given := cursor_secrets(settings):
        return given
    log.warning("api.cursor_secret is not set: a page can't be continued after a restart or elsewhere")
    return (Secret(secrets.token_urlsafe(32)),)
