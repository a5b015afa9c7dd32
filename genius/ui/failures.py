"""The sentences that answer what fails. The log gets one line for each refused request, and a
traceback only for a fault of ours.
"""

import logging

from starlette.requests import Request
from starlette.responses import JSONResponse

from genius.errors import UserError
from genius.ui.security import json_refusal

SERVER_FAULT = "Something went wrong on the server; its log has the details."
ENDPOINT_MISMATCH = "The arguments do not fit this endpoint; the API tab lists them."
UNKNOWN_ENDPOINT = "This page has no such endpoint; reload it."
NO_FILE = "The upload has no file; send each as a part of a form with a name and a file name."
MAX_SENTENCE = 400  # characters

log = logging.getLogger(__name__)


def sentence_for(error: Exception) -> str:
    """What the caller of an endpoint is told."""
    if isinstance(error, UserError):
        sentence = shortened(str(error))
        log.warning("refused a request: %r", shortened(str(error.__cause__ or sentence)))
        return sentence
    log.error("an endpoint failed", exc_info=error)
    return SERVER_FAULT


async def on_fault(request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that failed by a fault of ours, which the server logs."""
    return json_refusal(500, SERVER_FAULT)


def shortened(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[:MAX_SENTENCE]}…"
