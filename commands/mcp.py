"""The command `mcp`: serve the documents to an assistant over the Model Context Protocol."""

import click

from pincite.commands.frame import ANSWERED, Command, opened, working_settings
from pincite.core import __version__
from pincite.core.domain.tokens import Permission


@click.command(cls=Command)
@click.option("--allow-add", is_flag=True, help="Let the assistant add files of this machine to the library.")
def mcp(allow_add: bool) -> int:
    """Serve the documents to an assistant over the Model Context Protocol (stdio).

    The assistant starts this command itself; docs/mcp.md says how to set it up.
    """
    settings = working_settings()
    permissions = {Permission.READ, Permission.ASK} | ({Permission.ADD} if allow_add else set())
    from pincite.web.mcp_server import make_server
    from pincite.web.operations import Operations

    with opened(settings) as pincite:
        make_server(Operations(lambda: pincite), permissions, version=__version__).run("stdio")
    return ANSWERED


COMMANDS = (mcp,)
