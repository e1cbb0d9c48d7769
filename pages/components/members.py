"""The members of a collection, on a server with accounts."""

from functools import partial

import streamlit as st

from pincite.core.domain.accounts import Right
from pincite.core.domain.documents import Collection
from pincite.core.services.bootstrap import Pincite, UserPincite
from pincite.pages.components.controls import icon_button, row
from pincite.pages.components.facade import errors_shown, safely
from pincite.pages.components.words import count, escape

RIGHTS = {Right.READ: "Read and ask", Right.WRITE: "Also add and remove", Right.REVIEW: "Also decide about answers"}


def draw_members(app: Pincite, collection: Collection) -> None:
    """Draw who else sees the collection; its owner changes that."""
    if not isinstance(app, UserPincite):
        return
    members, owner = app.sharing.members(collection.id), app.sharing.owner(collection.id)
    with st.popover(f"Members ({len(members) + 1})", icon=":material/group:", type="tertiary"):
        if app.sharing.right(collection.id) is not None:
            named = escape(owner.shown) if owner else "somebody else"
            may = RIGHTS[app.sharing.right(collection.id) or Right.REVIEW].lower()
            st.markdown(f"The collection belongs to **{named}**. You may: {may}.")
            st.caption(f"{count(len(members), 'member')}: {escape(', '.join(one.shown for one in members))}")
            return
        st.caption("Members see its documents. Conversations and notes stay with whoever has them.")
        for member in members:
            with row(gap="xsmall"):
                key = f"right_{collection.id}_{member.user_id}"
                st.session_state[key] = member.right
                st.markdown(escape(member.shown), width="stretch")
                st.selectbox(
                    f"What {member.email} may do", list(RIGHTS), format_func=RIGHTS.__getitem__, key=key, width=220,
                    label_visibility="collapsed",
                    on_change=partial(_set, app, collection.id, member.email, key),
                )  # fmt: skip
                icon_button(f"Remove {member.email}", "person_remove", app.sharing.set, collection.id, member.email,
                            None, key=f"no_member_{member.user_id}")  # fmt: skip
        with st.form(f"new_member_{collection.id}", border=False, clear_on_submit=True):
            email = st.text_input("E-mail address", max_chars=254)
            right = st.selectbox("They may", list(RIGHTS), format_func=RIGHTS.__getitem__)
            if st.form_submit_button("Add member", type="primary"):
                with errors_shown():
                    app.sharing.set(collection.id, email or "", right)
                    st.rerun()


def _set(app: UserPincite, collection_id: str, email: str, key: str) -> None:
    safely(app.sharing.set, collection_id, email, st.session_state[key])


def may_change(app: Pincite, collection: Collection) -> bool:
    """Return whether the user may add to it and rename it."""
    return not isinstance(app, UserPincite) or app.sharing.right(collection.id) is not Right.READ


def is_own(app: Pincite, collection: Collection) -> bool:
    return not isinstance(app, UserPincite) or app.sharing.right(collection.id) is None
