"""A fleet of one room behind the authorization server of the official Python MCP SDK, for trying our sign-in on another
hand's idea of the same rules. Nothing here is a real device.

Usage: python_oauth_server.py PORT. It serves http://127.0.0.1:PORT/mcp, says yes to whoever comes to /authorize, gives
access tokens of three seconds and refresh tokens that are good once, checks PKCE and the audience, and takes tokens back. It
ends when its standard input does.
"""

import os
import secrets
import sys
import threading
import time
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthToken

PORT = int(sys.argv[1])
BASE = f"http://127.0.0.1:{PORT}"
LIFE = 3


class Everybody(OAuthAuthorizationServerProvider):
    """Lets everybody in."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or ["rooms"],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    def give(self, client_id, scopes, resource) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.access[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=int(time.time()) + LIFE, resource=resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes, resource=resource)
        return OAuthToken(
            access_token=access,
            token_type="Bearer",
            expires_in=LIFE,
            refresh_token=refresh,
            scope=" ".join(scopes),
        )

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        self.codes.pop(authorization_code.code)
        return self.give(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.refresh.pop(refresh_token.token)
        return self.give(client.client_id, scopes or refresh_token.scopes, refresh_token.resource)

    async def load_access_token(self, token):
        found = self.access.get(token)
        return found if found and found.expires_at > time.time() else None

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


server = MCPServer(
    "python-oauth-peer",
    auth_server_provider=Everybody(),
    auth=AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        required_scopes=["rooms"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["rooms"], default_scopes=["rooms"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
async def get_devices_in_my_team() -> dict[str, Any]:
    """The whole team."""
    room = {"Id": "20311112222", "Name": "Room 401 Unauthorized", "Model": "Pearl-2", "Status": "online", "Channels": []}
    return {"devices": [room]}


class SecretOfNobody:
    """The SDK's /revoke wants a client_secret even of a program that has none; an empty one is put behind the form."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/revoke":
            return await self.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        body += b"&client_secret="
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        headers.append((b"content-length", str(len(body)).encode()))

        async def whole() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app({**scope, "headers": headers}, whole, send)


def end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_stdin, daemon=True).start()
uvicorn.run(SecretOfNobody(server.streamable_http_app(host="127.0.0.1")), host="127.0.0.1", port=PORT, log_level="warning")
