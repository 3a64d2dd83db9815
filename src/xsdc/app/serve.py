"""Serve the page on this machine."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from xsdc.app.opening import Opened
from xsdc.app.routes import Events, make_app
from xsdc.app.security import Guard
from xsdc.app.session import Session
from xsdc.errors import InvalidInputError

LOCAL = ("127.0.0.1", "localhost", "[::1]")


def guarded_app(session: Session, events: Events, *, token: str, hosts: list[str]) -> ASGIApp:
    """The application behind its guard."""
    return Guard(make_app(session, events), token=token, hosts=hosts)


def serve(
    opened: Opened,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browse: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    opened : Opened
        What is labelled.
    host : str
        Address to listen on.
    port : int
        Port; 0 for a free one.
    browse : bool
        Whether to open a browser.
    announce : callable
        Told the address, which holds the token.
    """
    events = Events()
    session = Session(opened, events.tell)
    token = secrets.token_urlsafe(24)
    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        session.stop()
        raise InvalidInputError(
            f"{host}:{port} cannot be listened on: {error.strerror}. Give another --port."
        ) from error
    port = int(listening.getsockname()[1])
    named = LOCAL if host in ("127.0.0.1", "::1") else (*LOCAL, host, socket.gethostname())
    app = guarded_app(session, events, token=token, hosts=[f"{name}:{port}" for name in named])
    shown = host if host not in ("0.0.0.0", "::") else socket.gethostname()  # noqa: S104  only compared
    address = f"http://{shown}:{port}/?token={token}"
    announce(address)
    if browse:
        webbrowser.open(address)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2)
    )
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # the usual end
        pass
    finally:
        session.stop()
