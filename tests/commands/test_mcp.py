"""The MCP server, asked by the SDK's own client: in memory, and over the pipes of the command ``pincite mcp``."""

import asyncio
import base64
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.domain.tokens import Permission
from pincite.core.services.bootstrap import Pincite
from pincite.web.mcp_server import make_server
from pincite.web.operations import Operations

QUESTION = "What is the penalty for late payment?"
QUOTED = "the Client shall pay a late payment penalty of 1.5 % of the overdue amount per month"
LOOKING = {"list_documents", "search_documents", "read_page", "verify_quote", "verify_claim", "read_grid"}
ASKING = {"ask_documents", "run_grid"}
SECONDS = 300.0
NAME = "service-contract.pdf"


def with_client(app: Pincite, use: Callable[[Client], Awaitable[Any]], *, may_add: bool = False, **options: Any) -> Any:
    permissions = {Permission.READ, Permission.ASK} | ({Permission.ADD} if may_add else set())

    async def run() -> Any:
        async with Client(make_server(Operations(lambda: app), permissions), **options) as client:
            return await use(client)

    return asyncio.run(run())


def call(app: Pincite, tool: str, *, may_add: bool = False, **arguments: Any) -> Any:
    """Return the structured result; of an error its text."""

    async def use(client: Client) -> Any:
        result = await client.call_tool(tool, arguments, read_timeout_seconds=SECONDS)
        return result.content[0].text if result.is_error else result.structured_content  # type: ignore[union-attr]

    return with_client(app, use, may_add=may_add)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_describe_themselves_and_only_asking_writes(app: Pincite, mode: str) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools, client.instructions

    tools, instructions = with_client(app, use, mode=mode)
    assert "verify_quote" in instructions
    assert {tool.name for tool in tools} == LOOKING | ASKING, "adding is off unless it is allowed"
    for tool in tools:
        assert tool.description and tool.output_schema and tool.annotations
        assert tool.annotations.read_only_hint is (tool.name in LOOKING) and not tool.annotations.open_world_hint


@pytest.mark.behaviour(
    "The Model Context Protocol",
    "An assistant can list, search, read and ask; answers come with tier, verdicts, quotations and pages.",
)
def test_an_answer_comes_with_tier_verdicts_and_located_quotations(app: Pincite) -> None:
    steps: list[tuple[float, str | None]] = []

    async def use(client: Client) -> Any:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            steps.append((progress, message))

        return await client.call_tool(
            "ask_documents", {"question": QUESTION}, read_timeout_seconds=SECONDS, progress_callback=told
        )

    answer = with_client(app, use).structured_content
    assert answer["tier"] == "answered" and "1.5 %" in answer["answer"]
    assert {one["verdict"] for one in answer["statements"]} == {"supported"}
    [contract] = app.library.list()
    for place in answer["citations"]:
        assert place["document"] == NAME and place["quotation"] in app.library.page_text(contract.id, place["page"] - 1)
    assert steps and all(message for _, message in steps)
    follow_up = call(app, "ask_documents", question="Which law governs it?", session_id=answer["session_id"])
    assert follow_up["session_id"] == answer["session_id"] and "Netherlands" in follow_up["answer"]
    assert len(app.turns.of_session(answer["session_id"])) == 2, "it is kept like any conversation"


def test_documents_pages_and_passages_can_be_read(app: Pincite) -> None:
    [entry] = call(app, "list_documents")["documents"]
    assert entry["name"] == NAME and entry["pages"] == 4 and entry["status"] == "ready"
    page = call(app, "read_page", document=NAME, page=2)
    assert QUOTED.split()[0] in page["text"] and page["pages"] == 4
    best = call(app, "search_documents", query="late payment penalty", limit=3)["passages"]
    assert 0 < len(best) <= 3 and best[0]["page"] == 2 and "1.5 %" in best[0]["text"]


def test_quotations_and_claims_are_verified(app: Pincite) -> None:
    found = call(app, "verify_quote", quotation=QUOTED, document=NAME, page=2)
    assert found["status"] == "verified" and found["on_named_page"] and found["places"][0]["page"] == 2
    moved = call(app, "verify_quote", quotation=QUOTED, document=NAME, page=3)
    assert moved["status"] == "partial" and not moved["on_named_page"] and moved["places"][0]["page"] == 2
    changed = call(app, "verify_quote", quotation=QUOTED.replace("1.5", "2.5"))
    assert changed["status"] == "partial" and changed["differences"] == [{"quotation": "2.5", "page": "1.5"}]
    assert call(app, "verify_quote", quotation="All swans are white in winter.")["status"] == "not_found"
    claim = call(app, "verify_claim", claim="The late payment penalty is 3 % of the overdue amount per month.")
    assert claim["agreement"] == "contradicted" and "1.5 %" in claim["statements"][0]["quotation"]["quotation"]


def test_a_grid_is_run_and_read_again(app: Pincite) -> None:
    ran = call(app, "run_grid", questions=["When does the Agreement begin?", "Which law governs it?"])
    assert [one["name"] for one in ran["columns"]] == ["When does the Agreement begin?", "Which law governs it?"]
    [row] = ran["rows"]
    assert row["document"] == NAME and ran["waiting"] == 0
    assert "1 April 2025" in row["cells"][0]["value"] and row["cells"][0]["citations"][0]["quotation"]
    assert call(app, "read_grid", name=ran["name"]) == ran
    assert call(app, "run_grid", questions=["Which law governs it?"])["name"] != ran["name"]
    assert "A grid needs questions" in call(app, "run_grid")
    assert "There is no grid called" in call(app, "read_grid", name="None such")


def test_collections_limit_what_is_searched(app: Pincite) -> None:
    [contract] = app.library.list()
    app.collections.create("Empty")
    app.collections.add(app.collections.create("Contracts").id, [contract.id])
    assert call(app, "list_documents", collection="Empty")["documents"] == []
    assert call(app, "search_documents", query="penalty", collection="Empty")["passages"] == []
    assert call(app, "verify_quote", quotation=QUOTED, collection="Empty")["status"] == "not_found"
    assert call(app, "verify_claim", claim=f"{QUOTED}.", collection="Empty")["agreement"] == "not_there"
    assert call(app, "list_documents", collection="Contracts")["documents"][0]["collections"] == ["Contracts"]
    assert "is not in the collection" in call(app, "search_documents", query="a", documents=[NAME], collection="Empty")
    session = call(app, "ask_documents", question=QUESTION, collection="Contracts")["session_id"]
    elsewhere = call(app, "ask_documents", question=QUESTION, collection="Empty", session_id=session)
    assert "The session is not in the collection Empty" in elsewhere
    assert "There are: Contracts, Empty" in call(app, "list_documents", collection="None such")


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("read_page", {"document": NAME, "page": 9}, "has no page 9. It has 4 pages."),
        ("read_page", {"document": NAME, "page": 0}, "greater than or equal to 1"),
        ("read_page", {"document": "other.pdf", "page": 1}, "other.pdf"),
        ("verify_quote", {"quotation": "x", "page": 1}, "Name the document, too."),
        ("ask_documents", {"question": ""}, "at least 1 character"),
        ("ask_documents", {"question": "Why?", "session_id": "none"}, "no longer stored"),
        ("add_document", {"path": "/etc/hosts"}, "Unknown tool"),
    ],
)
def test_wrong_arguments_are_answered_with_what_is_wrong(
    app: Pincite, tool: str, arguments: dict[str, Any], message: str
) -> None:
    assert message in call(app, tool, **arguments)


def test_pages_are_resources_as_text_and_as_pictures(app: Pincite) -> None:
    [contract] = app.library.list()

    async def use(client: Client) -> Any:
        listed = (await client.list_resources()).resources
        text = (await client.read_resource(f"document://{contract.id}/page/2")).contents[0].text  # type: ignore[union-attr]
        picture = (await client.read_resource(f"document://{contract.id}/page/2/picture")).contents[0]
        wrong = []
        for address in (f"document://{contract.id}/page/9", f"document://{contract.id}/page/x", "document://no/page/1"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(address)
            wrong.append(str(refused.value))
        return listed, text, picture, wrong

    listed, text, picture, wrong = with_client(app, use)
    assert [one.name for one in listed] == [NAME] and text == app.library.page_text(contract.id, 1)
    assert base64.b64decode(picture.blob).startswith(b"\x89PNG") and picture.mime_type == "image/png"
    assert "has no page 9" in wrong[0] and "is not a page number" in wrong[1] and len(wrong) == 3


@pytest.mark.parametrize("permission", [Permission.ASK, Permission.ADD])
def test_who_may_not_read_is_told_of_no_document(app: Pincite, permission: Permission) -> None:
    async def run() -> Any:
        async with Client(make_server(Operations(lambda: app), {permission})) as client:
            templates = (await client.list_resource_templates()).resource_templates
            return (await client.list_resources()).resources, templates, (await client.list_tools()).tools

    resources, templates, tools = asyncio.run(run())
    assert resources == [] and templates == [] and {tool.name for tool in tools} in (ASKING, {"add_document"})


def test_files_are_added_only_where_it_is_allowed(app: Pincite, samples: Path) -> None:
    added = call(app, "add_document", may_add=True, path=str(samples / "scanned-letter.pdf"), collection="Letters")
    assert added["name"] == "scanned-letter.pdf" and added["collections"] == ["Letters"]
    for path in ("/no/such.pdf", "~nobody/a.pdf", "scanned-letter.pdf", str(samples)):
        assert "cannot be read" in call(app, "add_document", may_add=True, path=path)
    project = str(PACKAGE_ROOT / "pyproject.toml")
    refused = call(app, "add_document", may_add=True, path=project, collection="New")
    assert "is of no format that Pincite reads" in refused and app.collections.find("New") is None


def test_the_command_serves_a_client_over_its_pipes(contract_library: Path) -> None:
    """Nothing but the protocol is on the pipe, and the command ends when the client goes."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pincite.cli", "mcp", "--data-dir", str(contract_library)],
        env={**os.environ, "PINCITE_ENGINE": "quoting"},
    )

    async def use() -> Any:
        async with Client(server, read_timeout_seconds=SECONDS) as client:
            result = await client.call_tool("verify_quote", {"quotation": QUOTED})
            return client.server_info, result.structured_content

    info, found = asyncio.run(use())
    assert info is not None and info.name == "pincite" and found is not None and found["status"] == "verified"
