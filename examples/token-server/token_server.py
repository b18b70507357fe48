"""Sign tokens for the web examples: python token_server.py KEY_FILE, on port 5180."""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import OKPKey

jwk = json.loads(Path(sys.argv[1]).read_text())
key = OKPKey.import_key({name: jwk[name] for name in ("kty", "crv", "x", "d")})


def token_for(user: str) -> str:
    now = int(time.time())
    tenant = os.environ.get("TIDINGS_TENANT", "dev")
    claims = {"tenant": tenant, "sub": user, "aud": "tidings", "iat": now, "exp": now + 3600}
    return jwt.encode({"alg": "Ed25519", "kid": jwk["kid"]}, claims, key, algorithms=["Ed25519"])


class TokenHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        # Your server reads the user from its own session here. This example trusts the query.
        user = parse_qs(urlsplit(self.path).query).get("user", [""])[0]
        body = json.dumps({"token": token_for(user)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "5180"))), TokenHandler).serve_forever()
