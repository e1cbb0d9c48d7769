"""Zotero's collections, read from the program on this machine (Zotero Web API 3, "Local API")."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pincite.core.domain.errors import DocumentError
from pincite.core.services.references import Reference, checked

if TYPE_CHECKING:
    import httpx

ADDRESS = "http://localhost:23119/api/"
_MINE = "users/0"
_WITHIN = " / "
_SECONDS = 60.0
"""For one reply; a large collection takes Zotero a while."""
_TURN_ON = "In Zotero: Settings → Advanced → “Allow other applications on this computer to communicate with Zotero”."


@dataclass(frozen=True, slots=True)
class ZoteroCollection:
    """``key``: its place in the API. ``name``: with the names of those around it."""

    key: str
    name: str

    @property
    def short_name(self) -> str:
        return self.name.rpartition(_WITHIN)[2]


class Zotero:
    """The local API of a running Zotero. Its methods raise DocumentError where it does not answer."""

    def __init__(self, address: str = "") -> None:
        self._address = address or ADDRESS

    def collections(self) -> list[ZoteroCollection]:
        """Return all collections of the user's library and of the groups, by name."""
        libraries = [(_MINE, "")]
        with self._client() as client:
            for group in self._items(client, f"{_MINE}/groups"):
                libraries.append((f"groups/{group['id']}", f"{group['data']['name']}{_WITHIN}"))
            found = [one for prefix, name in libraries for one in self._of_library(client, prefix, name)]
        return sorted(found, key=lambda one: one.name.casefold())

    def _of_library(self, client: "httpx.Client", prefix: str, before: str) -> Iterator[ZoteroCollection]:
        entries = {one["key"]: one["data"] for one in self._items(client, f"{prefix}/collections")}
        for key in entries:
            names, at = list[str](), key
            while at in entries and len(names) <= len(entries):
                names.insert(0, entries[at]["name"])
                at = entries[at].get("parentCollection") or ""
            yield ZoteroCollection(f"{prefix}/collections/{key}", before + _WITHIN.join(names))

    def references(self, collection: ZoteroCollection) -> Iterator[Reference]:
        """Yield the items of a collection and of those within it, each once."""
        prefix = collection.key.rpartition("/collections/")[0]
        seen = set[str]()
        with self._client() as client:
            for key in self._with_those_within(client, prefix, collection.key):
                for entry in self._items(client, f"{key}/items/top?include=data,csljson"):
                    if entry["key"] not in seen and entry["data"]["itemType"] not in ("note", "annotation"):
                        seen.add(entry["key"])
                        yield self._reference(client, prefix, entry)

    def _with_those_within(self, client: "httpx.Client", prefix: str, key: str) -> Iterator[str]:
        yield key
        for one in self._items(client, f"{key}/collections"):
            yield from self._with_those_within(client, prefix, f"{prefix}/collections/{one['key']}")

    def _reference(self, client: "httpx.Client", prefix: str, entry: dict[str, Any]) -> Reference:
        if entry["data"]["itemType"] == "attachment":
            return Reference({}, tuple(self._files(client, prefix, [entry])))
        told = entry.get("csljson")
        try:
            [item, *_] = checked(json.loads(told) if isinstance(told, str) else [told]) or [{}]
        except ValueError:
            item = {}
        children = self._items(client, f"{prefix}/items/{entry['key']}/children?itemType=attachment")
        return Reference(item, tuple(self._files(client, prefix, children)))

    def _files(self, client: "httpx.Client", prefix: str, attachments: list[dict[str, Any]]) -> Iterator[Path]:
        """Yield where the files of attachments are; a linked web page has none, and a file may not be synced yet."""
        for one in attachments:
            if one["data"].get("linkMode") != "linked_url":
                reply = self._get(client, f"{prefix}/items/{one['key']}/file/view/url")
                url = urlsplit(reply.text.strip())
                if reply.is_success and url.scheme == "file":
                    yield Path(url2pathname(url.path))

    def _client(self) -> "httpx.Client":
        import httpx  # loaded only where Zotero is asked

        return httpx.Client(base_url=self._address, timeout=_SECONDS, trust_env=False)

    def _items(self, client: "httpx.Client", path: str) -> list[dict[str, Any]]:
        """Return what a path of the API lists, all its parts."""
        import httpx

        found, following = list[dict[str, Any]](), path
        while following:
            reply = self._get(client, following)
            try:
                found += reply.raise_for_status().json()
            except (httpx.HTTPError, ValueError, TypeError) as error:
                raise DocumentError(f"Zotero does not answer ({error}).", hint="Start it again.") from error
            following = reply.links.get("next", {}).get("url", "")
        return found

    def _get(self, client: "httpx.Client", path: str) -> "httpx.Response":
        import httpx

        try:
            reply = client.get(path)
        except httpx.ConnectError as error:
            raise DocumentError("Zotero is not running on this machine.", hint=f"Start it. {_TURN_ON}") from error
        except httpx.HTTPError as error:
            raise DocumentError(f"Zotero does not answer ({error}).", hint="Start it again.") from error
        if reply.status_code == httpx.codes.FORBIDDEN:
            raise DocumentError("Zotero does not let other programs read its library.", hint=_TURN_ON)
        return reply
