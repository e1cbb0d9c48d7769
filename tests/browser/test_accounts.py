"""Several people on one Pincite, each in a browser of their own: signing in, sharing, reviewing."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import ask, go_to
from tests.serving import RunningApp, free_port, running_app
from tests.support.accounts import ANA, BOB, CY, identity_provider, with_accounts

expect.set_options(timeout=PATIENCE_MS)
QUESTION = "What is the penalty for late payment?"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[RunningApp]:
    port = free_port()
    with identity_provider() as issuer:
        variables = environment(PINCITE_ENGINE="quoting", **with_accounts(issuer, port))
        with running_app(tmp_path, port=port, environment=variables) as running:
            yield running


@pytest.fixture
def sign_in(browser: Browser, app: RunningApp) -> Iterator[Callable[[str], Page]]:
    opened = []

    def signed_in(email: str) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(PATIENCE_MS)
        opened.append(context)
        page = context.new_page()
        page.goto(app.address)
        page.get_by_role("link", name="Sign in").click()
        page.get_by_role("button", name=email).click()
        return page

    yield signed_in
    for context in opened:
        context.close()


def add_user(page: Page, email: str, role: str) -> None:
    form = page.get_by_test_id("stForm")
    form.get_by_label("E-mail address").fill(email)
    form.get_by_label("Role", exact=True).click()
    page.get_by_role("option", name=re.compile(f"^{role}")).click()
    form.get_by_role("button", name="Add").click()
    expect(page.get_by_label(f"Role of {email}")).to_be_visible()


def share(page: Page, email: str, right: str) -> None:
    page.get_by_role("button", name=re.compile("^Members")).click()
    form = page.get_by_test_id("stForm").filter(has=page.get_by_label("They may"))
    form.get_by_label("E-mail address").fill(email)
    form.get_by_label("They may").click()
    page.get_by_role("option", name=right).click()
    form.get_by_role("button", name="Add member").click()
    expect(page.get_by_label(f"What {email} may do")).to_be_attached()
    page.keyboard.press("Escape")


@pytest.mark.behaviour(
    "Accounts", "People sign in at an identity provider, share a collection, and another decides about its answers."
)
def test_three_people_share_a_collection(sign_in: Callable[[str], Page], samples: Path) -> None:
    ana, bob = sign_in(ANA), sign_in(BOB)
    expect(bob.get_by_text("You have no account here.")).to_be_visible()
    expect(bob.get_by_test_id("stSidebarNavLink")).to_have_count(0)
    go_to(ana, "Users")
    add_user(ana, BOB, "Reader")
    add_user(ana, CY, "Reviewer")

    go_to(ana, "Documents")
    ana.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files(samples / "service-contract.pdf")
    expect(ana.get_by_text("Usable text on 4 of 4 pages")).to_be_visible()
    ana.get_by_role("button", name="New collection").click()
    new = ana.get_by_test_id("stForm").filter(has=ana.get_by_role("button", name="Create"))
    new.get_by_label("Collection name").fill("Contracts")
    new.get_by_role("combobox").click()
    ana.get_by_role("option", name="service-contract.pdf").click()
    new.get_by_label("Collection name").click()
    new.get_by_role("button", name="Create").click()
    expect(ana.get_by_role("button", name="Ask the collection")).to_be_visible()
    share(ana, BOB, "Read and ask")
    share(ana, CY, "Also decide about answers")

    bob.reload()
    expect(bob.get_by_test_id("stSidebarNavLink").filter(has_text="Users")).to_have_count(0)
    go_to(bob, "Documents")
    bob.get_by_role("combobox", name="Collection").click()
    bob.get_by_role("option", name="Contracts").click()
    expect(bob.get_by_role("button", name="Members (3)")).to_be_visible()
    expect(bob.get_by_role("button", name="Edit collection")).to_have_count(0)
    expect(bob.get_by_role("button", name="Delete")).to_have_count(0)
    bob.get_by_role("button", name="Ask the collection").click()
    ask(bob, QUESTION)
    bob.get_by_role("button", name="More").click()
    bob.get_by_role("button", name="Send to review").click()
    expect(bob.get_by_text("Sent to review.")).to_be_visible()

    cy = sign_in(CY)
    expect(cy.get_by_text("No sessions yet.")).to_be_visible()
    go_to(cy, "Review")
    cy.get_by_role("button", name="Approve").click()
    expect(cy.get_by_text(re.compile("Nothing is waiting|No answers are waiting|approved", re.I)).first).to_be_visible()
    go_to(bob, "Review")
    expect(bob.get_by_role("button", name="Approve")).to_have_count(0)
    go_to(ana, "Users")
    ana.get_by_role("tab", name="Audit log").click()
    expect(ana.get_by_role("button", name="Export as CSV")).to_be_visible()
    ana.get_by_role("button", name="Sign out").click()
    ana.get_by_role("button", name="End session").click()  # the provider asks
    expect(ana.get_by_role("link", name="Sign in")).to_be_visible()
