"""What the token of a request permits."""

from typing import Any

from fastapi import Depends, HTTPException, Request

from pincite.core.domain.tokens import Permission
from pincite.web.gate import TOKEN

WORDS = {Permission.READ: "reading", Permission.ASK: "asking", Permission.ADD: "adding"}


def may(permission: Permission) -> Any:
    """Return a dependency that refuses requests whose token does not permit this."""

    def check(request: Request) -> None:
        if permission not in request.scope[TOKEN].permissions:
            raise HTTPException(403, f"This token does not permit {WORDS[permission]}.")

    return Depends(check)
