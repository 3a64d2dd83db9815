"""The routes of the page."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from PIL import Image
from pydantic import BaseModel, Field
from sklearn.cluster import KMeans

from xsdc.app import exchange, payloads
from xsdc.app.layout import first_places, neighbor_places
from xsdc.app.session import Session
from xsdc.app.store import Entry, NotSavedError
from xsdc.app.trainer import Trainer
from xsdc.errors import InvalidInputError

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
MOST_ROWS = 64  # that are asked for at once
LONGEST_NAME = 200
SHOWN_SIDE = 256  # pixels of a picture, beyond which it is made smaller
BEAT = 15.0  # seconds after which an idle stream of events says that it is alive


class Said(BaseModel):
    """An entry as the page sends it."""

    id: str = Field(min_length=8, max_length=64)
    gesture: str = Field(min_length=8, max_length=64)
    kind: Literal["label", "pair", "set", "group", "undo", "merge"]
    points: list[int] = Field(default=[], max_length=2_000_000)
    answer: str = Field(min_length=1, max_length=LONGEST_NAME)
    strays: list[int] = Field(default=[], max_length=10_000)
    who: str = Field(default="", max_length=LONGEST_NAME)
    audit: bool = False
    lasso: bool = False

    def entry(self) -> Entry:
        """As it is kept."""
        extra = {name: True for name in ("audit", "lasso") if getattr(self, name)}
        points, strays = tuple(self.points), tuple(self.strays)
        return Entry(self.id, self.gesture, self.kind, points, self.answer.strip(), strays, self.who, extra=extra)


class Outbox(BaseModel):
    """Entries that are to be saved together."""

    entries: list[Said] = Field(min_length=1, max_length=1000)


class Split(BaseModel):
    """A class that is to be split in two."""

    code: int
    gesture: str = Field(min_length=8, max_length=64)
    who: str = Field(default="", max_length=LONGEST_NAME)


class Training(BaseModel):
    """What is to become of the training."""

    action: Literal["start", "pause", "resume", "stop", "every"]
    every: int = Field(default=0, ge=0, le=1_000_000)


class Incoming(BaseModel):
    """The text of a file of answers."""

    text: str
    who: str = Field(default="", max_length=LONGEST_NAME)


class Events:
    """Tells all open pages what has happened."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def tell(self, event: str, content: dict[str, Any]) -> None:
        """Tell it, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, f"event: {event}\ndata: {json.dumps(content)}\n\n")

    def _put(self, text: str) -> None:
        for queue in self._queues:
            queue.put_nowait(text)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield what happens until the page is closed."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield "event: hello\ndata: {}\n\n"
            while not await request.is_disconnected():
                try:
                    yield await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._queues.discard(queue)


class Places:
    """Where points stand: at once by principal components, better ones as soon as they are there."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.now: npt.NDArray[np.float32] = np.zeros((0, 2), dtype=np.float32)

    def renew(self, Z: npt.NDArray[np.float64]) -> None:
        """Lay points out anew in a thread."""
        if not len(self.now):
            self.now = first_places(Z)

        def better() -> None:
            self.now = neighbor_places(Z)
            self._events.tell("places", {})

        threading.Thread(target=better, name="places", daemon=True).start()


def make_app(session: Session, events: Events) -> FastAPI:
    """Make the application, not guarded yet."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, title="xsdc label")
    trainer, places = Trainer(session, events.tell), Places(events)
    places.renew(session.opened.resolver.view.Z.numpy())
    app.state.trainer, app.state.places = trainer, places

    @app.exception_handler(InvalidInputError)
    def refuse(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=422)

    @app.exception_handler(NotSavedError)
    def not_saved(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=507)

    _add_static(app)
    _add_points(app, session, places)

    _add_reading(app, session, trainer, places)
    _add_answers(app, session, trainer)
    _add_exchange(app, session)

    @app.get("/api/events")
    async def stream(request: Request) -> StreamingResponse:
        return StreamingResponse(events.stream(request), media_type="text/event-stream")

    return app


def _add_reading(app: FastAPI, session: Session, trainer: Trainer, places: Places) -> None:
    """What the page reads after each solution."""
    model = [session.opened.model]

    @app.get("/api/state")
    def state() -> dict[str, Any]:
        if session.opened.model is not model[0]:  # a training has left another one
            model[0] = session.opened.model
            places.renew(session.opened.resolver.view.Z.numpy())
        return {
            **payloads.state_of(session),
            "training": trainer.state,
            "python": exchange.python_lines(session.opened),
        }

    @app.get("/api/questions")
    def questions() -> dict[str, Any]:
        return payloads.questions_of(session)

    @app.get("/api/sheets")
    def sheets() -> list[dict[str, Any]]:
        return payloads.sheets_of(session)


def _add_answers(app: FastAPI, session: Session, trainer: Trainer) -> None:
    """What the page says."""

    @app.post("/api/answers")
    def answers(outbox: Outbox) -> dict[str, Any]:
        """Entries are on disk when this answers; one that is sent again is not kept twice."""
        session.add([said.entry() for said in outbox.entries])
        trainer.after_answer()
        return {"saved": [said.id for said in outbox.entries]}

    @app.post("/api/split")
    def split(asked: Split) -> dict[str, Any]:
        solution = session.solution
        members = np.flatnonzero(solution.codes == asked.code)
        if len(members) < 2:
            raise InvalidInputError("A group of fewer than two points cannot be split.")
        halves = KMeans(2, n_init=4, random_state=0).fit_predict(session.opened.resolver.view.Z.numpy()[members])
        moved = members[halves == int(np.bincount(halves).argmin())]
        points = tuple(moved.tolist())
        session.add([Entry(uuid.uuid4().hex, asked.gesture, "split", points, str(asked.code), who=asked.who)])
        return {"moved": len(points)}

    @app.post("/api/training")
    def training(asked: Training) -> dict[str, Any]:
        if asked.action == "every":
            trainer.set_every(asked.every)
        else:
            getattr(trainer, asked.action)()
        return trainer.state


def _add_static(app: FastAPI) -> None:
    """Files of the page, by names that are known beforehand."""
    files = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.suffix in TYPES}

    @app.get("/")
    def index() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html", headers={"cache-control": "no-cache"})

    @app.get("/static/{name:path}")
    def static(name: str) -> Response:
        path = files.get(name)
        if path is None:
            return JSONResponse({"error": "There is no such file."}, status_code=404)
        return FileResponse(path, media_type=TYPES[path.suffix], headers={"cache-control": "no-cache"})


def _add_points(app: FastAPI, session: Session, places: Places) -> None:
    @app.get("/api/points")
    def points() -> Response:
        """Class of each point in 16 bits, then its probability in 8, then whether it was answered in 8."""
        solution = session.solution
        probability = np.round(255 * np.clip(solution.probability, 0, 1)).astype("<u1")
        known = solution.situation.known.astype("<u1")
        body = solution.codes.astype("<u2").tobytes() + probability.tobytes() + known.tobytes()
        return Response(body, media_type="application/octet-stream", headers={"x-version": str(solution.version)})

    @app.get("/api/places")
    def layout() -> Response:
        """Places in 32 bits each, x and y in turn."""
        return Response(places.now.astype("<f4").tobytes(), media_type="application/octet-stream")

    @app.get("/api/rows")
    def rows(at: Annotated[list[int], Query(max_length=MOST_ROWS)]) -> list[dict[str, Any]]:
        wrong = [i for i in at if not 0 <= i < session.n]
        if wrong:
            raise InvalidInputError(f"There is no point {wrong[0]}.")
        return payloads.rows_of(session, at)

    @app.get("/media/{row}")
    def media(row: int) -> Response:
        pictures = session.opened.dataset.pictures
        if pictures is None or not 0 <= row < session.n:
            return JSONResponse({"error": "There is no picture."}, status_code=404)
        pixels = np.asarray(pictures[row], dtype=np.uint8)
        image = Image.fromarray(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels)
        image.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
        stream = io.BytesIO()
        image.save(stream, "PNG")
        return Response(stream.getvalue(), media_type="image/png", headers={"cache-control": "private, max-age=3600"})


def _add_exchange(app: FastAPI, session: Session) -> None:
    def attached(text: str | bytes, name: str, kind: str) -> Response:
        return Response(text, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})

    @app.get("/api/out/{what}")
    def out(what: str) -> Response:
        folder = session.opened.folder
        known = session.wait().known
        if what == "labels.csv":
            return attached(exchange.labels_csv(session), what, "text/csv")
        if what == "answers.csv":
            return attached(exchange.answers_csv(session.opened, exchange.told(session)), what, "text/csv")
        if what == "audits.csv":
            return attached(exchange.answers_csv(session.opened, known.audits), what, "text/csv")
        if what == "label-studio.json":
            return attached(exchange.label_studio(session), what, "application/json")
        trained = {"model.xsdc": folder.model, "report.html": folder.report}
        if what in trained and trained[what].is_file():
            return attached(trained[what].read_bytes(), what, "application/octet-stream")
        return JSONResponse({"error": "There is no such file yet. Train first."}, status_code=404)

    @app.post("/api/in")
    def incoming(file: Incoming) -> dict[str, Any]:
        entries = session.add(exchange.read_in(session, file.text, file.who))
        return {"taken": len(entries)}
