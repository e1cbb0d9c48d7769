"""Run by Alembic: the migrations use the connection and the transaction of whoever calls ``migrate``."""

from alembic import context

from pincite.core.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
