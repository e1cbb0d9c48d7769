"""Run by Alembic: the migrations use the connection and the transaction of whoever calls ``migrate``."""

from alembic import context

from pincite.core.store.schema import metadata

if __name__ == "env_py":  # so Alembic names it; to import it does nothing
    context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
    context.run_migrations()
