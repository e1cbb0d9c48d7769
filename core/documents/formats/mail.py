"""E-mails (.eml, .msg): who wrote what to whom and when, the text, and the files that came with it."""

import email
import email.policy
import email.utils
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

from pincite.core.documents.formats.content import Content, Item, Paragraph, Run
from pincite.core.documents.formats.html import page_content, source_of
from pincite.core.documents.formats.plain import decoded, paragraphs
from pincite.core.domain.documents import ENDINGS as ADDED

KIND = "an e-mail (.eml, .msg)"
ENDINGS = (".eml", ".msg")
_OUTLOOK = b"\xd0\xcf\x11\xe0"
_HEADERS = ("From", "To", "Cc", "Date")
_QUOTE = ">"
_SENDER_NAME = 0x0C1A
"""PidTagSenderName of MS-OXPROPS."""
_MAX_NAME_LENGTH = 100


@dataclass
class _Mail:
    subject: str
    headers: dict[str, str]
    sent: datetime | None
    html: bytes | str = ""
    text: str = ""
    attached: list[tuple[str, bytes]] = field(default_factory=list)


def is_one(path: Path, name: str) -> bool:
    return name.casefold().endswith(ENDINGS)


def save_as_pdf(path: Path, target: Path) -> Sequence[tuple[str, bytes]]:
    from pincite.core.documents.formats.typeset import typeset

    data = path.read_bytes()
    mail = _of_outlook(path) if data.startswith(_OUTLOOK) else _standard(data)
    added = [(name, content) for name, content in mail.attached if name.casefold().endswith(ADDED) and content]
    typeset(_content(mail, [name for name, _ in added]), path.name, target)
    return added


def _content(mail: _Mail, added: Sequence[str]) -> Content:
    names = [name for name, _ in mail.attached]
    headers = mail.headers | ({"Attachments": ", ".join(names)} if names else {})
    head: list[Item] = [Paragraph((Run(mail.subject or "(no subject)"),), level=1)]
    head += [Paragraph((Run(f"{name}: ", bold=True), Run(value))) for name, value in headers.items() if value]
    if mail.html:
        content = page_content(mail.html, "an e-mail", before=head, is_mail=True)
    else:
        content = Content("an e-mail", (*head, *_paragraphs(mail.text)))
    not_added = (f"the attachment {name}" for name in names if name not in added)
    lacks = tuple(dict.fromkeys((*content.lacks, *not_added)))
    author = mail.headers.get("From", "")
    return replace(content, lacks=lacks, title=mail.subject, author=author, created=mail.sent)


def _paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs; those that quote an earlier e-mail keep their mark."""
    lines = text.replace("\r\n", "\n").split("\n")
    block, depth = list[str](), 0
    for line in [*lines, ""]:
        own, quoted = line, 0
        while own.lstrip().startswith(_QUOTE):
            own, quoted = own.lstrip()[1:], quoted + 1
        if quoted != depth:
            yield from _quoted(paragraphs("\n".join(block)), depth)
            block, depth = [], quoted
        block.append(own)
    yield from _quoted(paragraphs("\n".join(block)), depth)


def _quoted(found: Iterator[Paragraph], depth: int) -> Iterator[Paragraph]:
    return (replace(one, label=_QUOTE * depth, depth=max(depth - 1, 0)) for one in found)


def _standard(data: bytes) -> _Mail:
    """Return an e-mail as RFC 5322 defines it."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    headers = {name: " ".join(str(message.get(name, "")).split()) for name in _HEADERS}
    try:
        sent = email.utils.parsedate_to_datetime(headers["Date"])
    except ValueError:
        sent = None
    mail = _Mail(" ".join(str(message.get("Subject", "")).split()), headers, sent)
    body = message.get_body(("html", "plain"))
    if body is not None:
        source = source_of(body)
        if body.get_content_subtype() == "html":
            mail.html = source
        else:
            mail.text = source if isinstance(source, str) else decoded(source, "The e-mail")
    for part in message.iter_attachments():
        mail.attached.append(_attachment(part, len(mail.attached) + 1))
    return mail


def _attachment(part: EmailMessage, number: int) -> tuple[str, bytes]:
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        assert isinstance(inner, EmailMessage)
        return f"{_name(str(inner.get('Subject', '')), f'E-mail {number}')}.eml", inner.as_bytes()
    content = part.get_payload(decode=True)
    return _name(part.get_filename() or "", f"Attachment {number}"), content if isinstance(content, bytes) else b""


def _of_outlook(path: Path) -> _Mail:
    from oxmsg import Message

    message = Message.load(str(path))
    recipients = ", ".join(email.utils.formataddr((one.name, one.email_address)) for one in message.recipients)
    headers = {"From": message.sender or message.properties.str_prop_value(_SENDER_NAME) or "", "To": recipients,
               "Date": email.utils.format_datetime(message.sent_date) if message.sent_date else ""}  # fmt: skip
    attached = [
        (_name(one.file_name or "", f"Attachment {number}"), one.file_bytes or b"")
        for number, one in enumerate(message.attachments, 1)
    ]
    return _Mail(
        message.subject or "", headers, message.sent_date, message.html_body or "", message.body or "", attached
    )


def _name(name: str, otherwise: str) -> str:
    """Return a name without a folder, as a file may be called."""
    return " ".join(name.replace("\\", "/").rpartition("/")[2].split())[-_MAX_NAME_LENGTH:] or otherwise
