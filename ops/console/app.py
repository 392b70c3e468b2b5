"""The console as a web application: its routes, and what all its pages share."""

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ops.console import writing
from ops.console.actions import OFFERED, Action, find_action
from ops.console.asking import values
from ops.console.changes import Changes
from ops.console.guard import Guard
from ops.console.runs import Run, Runs
from ops.console.sampling import EVERY_SECONDS, Sampler
from ops.console.views import PAGES
from ops.dead_export import exported
from ops.deployment import STACK_ERRORS
from ops.output import CommandError
from ops.selection import Selection

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ops.deployment import Deployment

HERE = Path(__file__).parent
# A form holds a reason and a few numbers.
MOST_FORM_BYTES = 20_000
MOST_REASON_CHARACTERS = 500
READ_ONLY = "This console only shows. Start it with --allow-actions to change the stack from here."


class Console:
    """One console: the stack that it shows, what was asked of it last, and what runs."""

    def __init__(
        self,
        deployment: "Deployment",
        *,
        token: str,
        allows_actions: bool,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self.deployment = deployment
        self.allows_actions = allows_actions
        self.changes = Changes()
        self.sampler = Sampler(deployment, self.changes, every_seconds=every_seconds)
        self.runs = Runs(deployment, self.changes)
        self._form_token = secrets.token_urlsafe(24)
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= writing.FILTERS
        self.app: ASGIApp = Guard(self._routes(), token=token)

    def close(self) -> None:
        """End the streams and the questions, and what still runs at its next step."""
        self.changes.close()
        self.sampler.close()
        self.runs.close()

    def _routes(self) -> Starlette:
        pages = [Route(path, self._page(path)) for path in PAGES]
        failed: dict[Any, Callable[[Request, Any], Response]] = {
            HTTPException: self._not_served,
            click.ClickException: self._refused,
            **dict.fromkeys(STACK_ERRORS, self._no_answer),
        }
        return Starlette(
            routes=[
                *pages,
                Route("/act/{words}", self._act, methods=["GET", "POST"]),
                Route("/export", self._export, methods=["POST"]),
                Route("/runs/{number:int}", self._run),
                Route("/runs/{number:int}/abort", self._abort, methods=["POST"]),
                Route("/events", self._events),
                Mount("/static", StaticFiles(directory=HERE / "static")),
            ],
            exception_handlers=failed,
        )

    def _page(self, path: str) -> Callable[[Request], Response]:
        page = PAGES[path]

        def answer(request: Request) -> Response:
            self.sampler.look()
            return self._render(
                request,
                f"{path.strip('/') or 'overview'}.html",
                title=page.name,
                # What changes from here on makes the page ask again.
                seen=self.changes.seen(),
                **page.view(self, request.query_params),
            )

        return answer

    async def _act(self, request: Request) -> Response:
        form = await self._form(request) if request.method == "POST" else None
        return await run_in_threadpool(self._confirm, request, form)

    def _confirm(self, request: Request, form: Mapping[str, str] | None) -> Response:
        """Show what an action would do, and do it once it is confirmed with a reason."""
        action = find_action(request.path_params["words"], request.query_params)
        if not self.allows_actions:
            raise HTTPException(403, READ_ONLY)
        said = form or {}
        reason, shown = said.get("reason", "").strip(), said.get("documents")
        try:
            proposal = action.propose(self.deployment, reason or None)
        except click.ClickException as error:
            return self._ask(request, action, None, error.format_message())
        if shown is None:
            return self._ask(request, action, proposal, "")
        if not reason and action.is_noted:
            why = "Say why: the reason is shown to the next operator."
            return self._ask(request, action, proposal, why)
        if len(reason) > MOST_REASON_CHARACTERS:
            why = f"The reason is too long: {MOST_REASON_CHARACTERS} characters are enough."
            return self._ask(request, action, proposal, why)
        if shown != str(proposal.documents):
            why = f"It was {shown} before, and is {proposal.documents} now: look again."
            return self._ask(request, action, proposal, why, reason)
        run = self.runs.start(action.words, proposal, reason, is_noted=action.is_noted)
        return RedirectResponse(f"/runs/{run.id}", 303)

    def _ask(
        self, request: Request, action: Action, proposal: Any, mistake: str, reason: str = ""
    ) -> Response:
        return self._render(
            request,
            "action.html",
            status_code=422 if mistake else 200,
            title=action.title,
            action=action,
            fields=action.fields(self.deployment),
            proposal=proposal,
            mistake=mistake,
            reason=reason,
            most_characters=MOST_REASON_CHARACTERS,
            shell=action.shell(self.deployment),
        )

    async def _export(self, request: Request) -> Response:
        await self._form(request)
        return await run_in_threadpool(self._exported, request.query_params)

    def _exported(self, query: QueryParams) -> Response:
        lines = exported(self.deployment, Selection(**values("dead list", query)))
        name = f"dead-letters-{datetime.now(UTC):%Y%m%d-%H%M%S}.jsonl"
        return Response(
            "".join(f"{line.model_dump_json()}\n" for line in lines),
            media_type="application/x-ndjson",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def _run(self, request: Request) -> Response:
        return self._render(request, "run.html", title="Action", run=self._found(request))

    async def _abort(self, request: Request) -> Response:
        await self._form(request)
        run = self._found(request)
        self.runs.abort(run)
        return RedirectResponse(f"/runs/{run.id}", 303)

    def _found(self, request: Request) -> Run:
        run = self.runs.find(request.path_params["number"])
        if run is None:
            raise HTTPException(404, "This console has no such run; the log of actions may.")
        return run

    async def _events(self, request: Request) -> Response:
        events = self.changes.stream(request.query_params.get("seen", ""))
        return StreamingResponse(events, media_type="text/event-stream")

    async def _form(self, request: Request) -> Mapping[str, str]:
        """Read a form of ours; one that another page has made lacks our token."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_FORM_BYTES:
                raise HTTPException(413, "The form is too long.")
        form = dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
        given = form.get("form_token", "")
        if not secrets.compare_digest(given.encode(), self._form_token.encode()):
            raise HTTPException(403, "The form is not of this console: load the page again.")
        return form

    def _render(
        self, request: Request, template: str, *, title: str, status_code: int = 200, **context: Any
    ) -> Response:
        shared = {"seen": self.changes.seen()} | context
        text = self._templates.get_template(template).render(
            title=title,
            path=request.url.path,
            query=request.query_params,
            pages={path: page.name for path, page in PAGES.items()},
            keys={path: page.key for path, page in PAGES.items()},
            place=self.deployment.place,
            deployment=self.deployment,
            verdict=self.sampler.verdict,
            sampled=self.sampler.snapshot,
            now=datetime.now(UTC),
            allows_actions=self.allows_actions,
            form_token=self._form_token,
            act=self._link,
            here=lambda **changed: here(request, **changed),
            **shared,
        )
        return HTMLResponse(text, status_code)

    def _link(self, words: str, **given: str) -> dict[str, str]:
        """Return the page of an action, what its button says, and the same as a command."""
        query = urlencode(given)
        action = Action(words, QueryParams(given))
        return {
            "href": f"/act/{words}?{query}".rstrip("?"),
            "label": OFFERED[words][0],
            "shell": action.shell(self.deployment),
        }

    def _not_served(self, request: Request, error: HTTPException) -> Response:
        return self._render(
            request,
            "error.html",
            title="Not possible" if error.status_code != 404 else "Not found",
            status_code=error.status_code,
            message=error.detail,
        )

    def _refused(self, request: Request, error: click.ClickException) -> Response:
        status = 502 if not isinstance(error, CommandError) or error.exit_code == 1 else 400
        return self._render(
            request,
            "error.html",
            title="Not possible",
            status_code=status,
            message=error.format_message(),
        )

    def _no_answer(self, request: Request, error: Exception) -> Response:
        return self._render(
            request,
            "error.html",
            title="The stack does not answer",
            status_code=502,
            message=str(error),
        )


def here(request: Request, **changed: str) -> str:
    """Return the address of this page with some of its filters changed; empty ones go."""
    query = dict(request.query_params) | changed
    written = urlencode({name: value for name, value in query.items() if value})
    return f"{request.url.path}?{written}".rstrip("?")
