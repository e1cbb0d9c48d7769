"""The users of a server and their roles, and the log of what they did: for admins."""

import streamlit as st

from pincite.core.domain.accounts import Role, User
from pincite.core.services.accounts import MAX_LINES, Accounts
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import download, quiet, row
from pincite.pages.components.facade import errors_shown, safely, show
from pincite.pages.components.words import count, escape, moment, parse_time

ROLES = {
    Role.READER: "Reader: adds documents and asks",
    Role.REVIEWER: "Reviewer: also decides about answers",
    Role.ADMIN: "Admin: also manages users and models",
}


def draw(app: Pincite) -> None:
    st.header("Users", anchor=False)
    if app.accounts is None or app.user is None:
        st.info("This library has no accounts.", icon=":material/person:")
        return
    with errors_shown(), st.container(width=900):
        people, log = st.tabs(["Users", "Audit log"])
        with people:
            draw_users(app.accounts, app.user)
        with log:
            draw_log(app, app.accounts, app.user)


def draw_users(accounts: Accounts, admin: User) -> None:
    with st.form("new_user", clear_on_submit=True), row(vertical_alignment="bottom"):
        email = st.text_input("E-mail address", placeholder="As the identity provider knows it", max_chars=254)
        role = st.selectbox("Role", list(ROLES), format_func=ROLES.__getitem__)
        if st.form_submit_button("Add", type="primary"):
            with errors_shown():
                accounts.add(admin, email or "", role)
                st.toast("Added. They can sign in now.", icon=":material/check:")
    users = accounts.all(admin)
    st.caption(f"{count(len(users), 'user')}. An admin sees no documents of others.")
    for user in users:
        draw_user(accounts, admin, user)


def draw_user(accounts: Accounts, admin: User, user: User) -> None:
    seen = f"signed in {moment(user.seen_at)}" if user.seen_at else "has not signed in yet"
    with row(key=f"user_{user.id}"):
        named = f"**{escape(user.shown)}**" + (f"  \n{escape(user.email)}" if user.name else "")
        st.markdown(f"{named}  \n:small[{'disabled' if user.disabled else seen}]", width="stretch")
        key = f"role_{user.id}"
        st.session_state[key] = user.role
        st.selectbox(
            f"Role of {user.email}", list(ROLES), key=key, label_visibility="collapsed", width=300,
            format_func=ROLES.__getitem__,
            on_change=lambda: safely(accounts.set_role, admin, user.id, st.session_state[key]),
        )  # fmt: skip
        label, icon = ("Enable", "person_add") if user.disabled else ("Disable", "person_off")
        quiet(label, icon, accounts.set_disabled, admin, user.id, not user.disabled, key=f"disable_{user.id}")


def draw_log(app: Pincite, accounts: Accounts, admin: User) -> None:
    lines = accounts.audit(admin)
    st.caption(
        "Who added, deleted, decided, shared, exported and signed in. It has ids and no names of documents, so that "
        "nothing of what is deleted stays."
    )
    download(app, "Export as CSV", lambda: accounts.audit_csv(admin), "audit log.csv", of=("audit log", ""),
             key="audit_csv")  # fmt: skip
    named = {"Who": "who", "What": "action", "Of": "kind", "Id": "subject"}
    rows = [
        {"When": parse_time(one.at).astimezone()} | {shown: getattr(one, name) for shown, name in named.items()}
        for one in lines
    ]
    when = st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm:ss")
    st.dataframe(rows, hide_index=True, column_config={"When": when})
    if len(lines) == MAX_LINES:
        st.caption(f"The newest {MAX_LINES:,} lines. The file has all.")


show(draw)
