"""Pictures of pages and of quoted lines at addresses of their own, so that a browser asks for those that it shows."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pincite.core.domain.answers import Citation
from pincite.core.domain.errors import PinciteError
from pincite.core.services.bootstrap import Pincite
from pincite.web.sign_in import claims_of

_FOLDER = "/pictures"


def page_address(document_id: str) -> str:
    """Where a document's first page is shown small."""
    return f"{_FOLDER}/{document_id}/0"


def quotation_address(place: Citation) -> str:
    """Where the lines of a quotation are shown, with its words marked."""
    return f"{_FOLDER}/{place.document_id}/{place.page_index}?{urlencode({'start': place.start, 'end': place.end})}"


def picture_routes(seen_by: Callable[[dict[str, Any]], Pincite]) -> list[Route]:
    """``seen_by`` returns the library as the user sees it whom an identity provider's claims name."""
    one_at_a_time = asyncio.Lock()  # each picture that is drawn at the same time as another takes its own process

    async def picture(request: Request) -> Response:
        document_id, page_index = request.path_params["document"], request.path_params["page"]
        given = request.query_params
        try:
            async with one_at_a_time:
                span = (int(given["start"]), int(given["end"])) if given else None
                app = await asyncio.to_thread(seen_by, claims_of(request))
                image = await asyncio.to_thread(app.documents.small_image, document_id, page_index, span)
        except (PinciteError, ValueError, KeyError):
            return PlainTextResponse("There is no such picture.", status_code=404)
        return Response(image, media_type="image/png", headers={"Cache-Control": "no-store"})

    return [Route(f"{_FOLDER}/{{document}}/{{page:int}}", picture)]
