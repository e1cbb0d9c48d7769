"""E-mails (.eml, .msg): who wrote what to whom and when, the text, and the files that came with it."""

import base64
import email
import email.policy
import email.utils
import mimetypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import TypeAlias

from pincite.core.documents.formats.content import Content, Item, Paragraph, Run, layout_for
from pincite.core.documents.formats.html import page_content, source_of
from pincite.core.documents.formats.plain import decoded, paragraphs
from pincite.core.domain.documents import all_endings

KIND = "an e-mail (.eml, .msg)"
ENDINGS = (".eml", ".msg")
_OUTLOOK = b"\xd0\xcf\x11\xe0"
_HEADERS = ("From", "To", "Cc", "Date")
_QUOTE = ">"
_SENDER_NAME = 0x0C1A
"""PidTagSenderName of MS-OXPROPS."""
_MAX_NAME_LENGTH = 100


_Part: TypeAlias = bytes | str | tuple[Paragraph, ...]
"""HTML, or the paragraphs of plain text."""


@dataclass
class _Mail:
    subject: str
    headers: dict[str, str]
    sent: datetime | None
    body: list[_Part] = field(default_factory=list)
    has_pictures: bool = False
    attached: list[tuple[str, bytes]] = field(default_factory=list)


def is_one(path: Path, name: str) -> bool:
    return name.casefold().endswith(ENDINGS)


def save_as_pdf(path: Path, target: Path) -> Sequence[tuple[str, bytes]]:
    from pincite.core.documents.formats.typeset import typeset

    data = path.read_bytes()
    mail = _of_outlook(path) if data.startswith(_OUTLOOK) else _standard(data)
    added = [(name, content) for name, content in mail.attached if name.casefold().endswith(all_endings()) and content]
    typeset(_content(mail, [name for name, _ in added]), path.name, target)
    return added


def _content(mail: _Mail, added: Sequence[str]) -> Content:
    names = [name for name, _ in mail.attached]
    headers = mail.headers | ({"Attachments": ", ".join(names)} if names else {})
    head: list[Item] = [Paragraph((Run(mail.subject or "(no subject)"),), level=1)]
    head += [Paragraph((Run(f"{name}: ", bold=True), Run(value))) for name, value in headers.items() if value]
    items, lacks = head, dict[str, None]()
    for part in mail.body:
        content = Content("", part) if isinstance(part, tuple) else page_content(part, "", is_mail=True)
        items += content.items
        lacks |= dict.fromkeys(content.lacks)
    lacks |= {"pictures": None} if mail.has_pictures else {}
    lacks |= {f"the attachment {name}": None for name in names if name not in added}
    author = mail.headers.get("From", "")
    return Content("an e-mail", tuple(items), None, tuple(lacks), mail.subject, author, mail.sent, layout_for(items))


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
    subject = " ".join(str(message.get("Subject", "")).split())
    mail = _Mail(subject, headers, sent)
    _take(message, mail)
    return mail


def _take(part: EmailMessage, mail: _Mail) -> None:
    """Take the text of a part and of those within it, and the files that came with it."""
    kind, parts = part.get_content_type(), [one for one in part.iter_parts() if isinstance(one, EmailMessage)]
    is_text = part.get_content_maintype() == "text" and part.get_content_subtype() in ("plain", "html")
    if kind == "multipart/alternative":
        holding = [one for one in parts if any(inner.get_content_type() == "text/html" for inner in one.walk())]
        for one in (holding or parts)[-1:]:
            _take(one, mail)
    elif part.is_multipart() and kind != "message/rfc822":
        for one in parts:
            _take(one, mail)
    elif is_text and not part.get_filename() and part.get_content_disposition() != "attachment":
        source = source_of(part)
        if part.get_content_subtype() == "html":
            mail.body.append(source)
        else:
            mail.body.append(tuple(_paragraphs(source if isinstance(source, str) else decoded(source, "The e-mail"))))
    elif part.get_content_maintype() == "image" and part.get("Content-ID") and not part.is_attachment():
        mail.has_pictures = True
    else:
        mail.attached.append(_attachment(part, len(mail.attached) + 1))


def _attachment(part: EmailMessage, number: int) -> tuple[str, bytes]:
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = part.get_payload(0)
        assert isinstance(inner, EmailMessage)
        subject = " ".join(str(inner.get("Subject", "")).replace("/", "-").split())
        is_encoded = part.get("Content-Transfer-Encoding", "").lower() == "base64"
        if subject or list(inner.iter_parts()) or not is_encoded:
            return f"{_name(subject, f'E-mail {number}')}.eml", inner.as_bytes()
        name = _name(part.get_filename() or "", f"E-mail {number}").removesuffix(".eml")
        return f"{name}.eml", base64.b64decode(str(inner.get_payload()))
    ending = mimetypes.guess_extension(part.get_content_type()) or ""
    content = part.get_payload(decode=True)
    name = _name(part.get_filename() or "", f"Attachment {number}{ending}")
    return name, content if isinstance(content, bytes) else b""


def _of_outlook(path: Path) -> _Mail:
    from oxmsg import Message

    message = Message.load(str(path))
    recipients = ", ".join(email.utils.formataddr((one.name, one.email_address)) for one in message.recipients)
    headers = {"From": message.sender or message.properties.str_prop_value(_SENDER_NAME) or "", "To": recipients,
               "Date": email.utils.format_datetime(message.sent_date) if message.sent_date else ""}  # fmt: skip
    body: list[_Part] = [message.html_body] if message.html_body else [tuple(_paragraphs(message.body or ""))]
    attached = [
        (_name(one.file_name or "", f"Attachment {number}"), one.file_bytes or b"")
        for number, one in enumerate(message.attachments, 1)
    ]
    return _Mail(message.subject or "", headers, message.sent_date, body, attached=attached)


def _name(name: str, otherwise: str) -> str:
    """Return a name without a folder, as a file may be called."""
    return " ".join(name.replace("\\", "/").rpartition("/")[2].split())[-_MAX_NAME_LENGTH:] or otherwise
