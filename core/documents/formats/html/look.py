"""How the elements of a page look by its own style sheets: whether they are seen, and how they are set.

The cascade is that of CSS (tinycss2, cssselect2); of its properties those are followed that hide text or set it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import cssselect2
import tinycss2
import tinycss2.color4

from pincite.core.documents.formats.contrast import MIN_POINTS, Color, reason_by_color
from pincite.core.domain.documents import HiddenReason

Declarations: TypeAlias = Mapping[str, Sequence[Any]]
"""The tokens of each property's value."""

_PAPER: Color = (255, 255, 255)
_MIN_ALPHA = 0.1
_MAX_DEPTH = 10
"""Variables within each other."""
_FAR = 500.0
"""Points to the left or above from where on text is outside of any window."""
_WINDOW = 960.0
"""Points that a window is wide and high, for style sheets that ask."""
_QUERY = re.compile(
    r"(?P<no>not\s{1,9})?(?:only\s{1,9})?(?P<kind>[a-z]{0,20})(?P<features>.*)", re.IGNORECASE | re.DOTALL
)
_FEATURE = re.compile(r"\(\s{0,9}([a-z-]{1,40})\s{0,9}(?::([^()]{0,99}))?\)", re.IGNORECASE)
_LINK: Color = (0, 0, 238)
_POINTS = {"px": 0.75, "pt": 1.0, "pc": 12.0, "in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "q": 72 / 101.6}
_SIZES = {
    "xx-small": 7.0, "x-small": 7.5, "small": 10.0, "medium": 12.0, "large": 13.5, "x-large": 18.0, "xx-large": 24.0,
}  # fmt: skip
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer"
    " form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary"
    " table ul".split()
)
_BOLD = frozenset("b strong th h1 h2 h3 h4 h5 h6 dt".split())
_ITALIC = frozenset("i em cite var dfn address".split())
_NOT_DISPLAYED = frozenset(
    "head script style template noscript noframes noembed datalist audio video canvas object iframe title param rp"
    " source track area map link meta base dialog".split()
)
"""Elements that a browser which runs scripts does not show; of some, a picture."""


@dataclass(frozen=True, slots=True)
class Look:
    """What holds for an element; ``block``: it begins a line of its own."""

    hidden: HiddenReason | None = None
    color: Color | None = (0, 0, 0)
    """None: not known."""
    ground: Color | None = _PAPER
    """None: a picture or a gradient, on which no colour is called hidden."""
    points: float = 12.0
    bold: bool = False
    italic: bool = False
    raised: bool = False
    preformatted: bool = False
    block: bool = False
    displayed: bool = True
    """Not so: the element and all in it takes no part in the page."""
    invisible: bool = False
    """By ``visibility``, which an element inside may take back."""
    opacity: float = 1.0
    marker: str = ""
    """How the items of a list are numbered, by its style."""
    variables: Declarations = field(default_factory=dict)

    @property
    def reason(self) -> HiddenReason | None:
        """Return why text with this look is not seen."""
        if self.hidden or self.invisible:
            return self.hidden or HiddenReason.INVISIBLE
        return HiddenReason.SMALL if self.points < MIN_POINTS else reason_by_color(self.color, self.ground)


class Looks:
    """The style sheets of one page."""

    def __init__(self, sheets: Sequence[str]) -> None:
        self._matcher = cssselect2.Matcher()
        for sheet in sheets:
            self._add(tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True))

    def of(self, element: cssselect2.ElementWrapper, around: Look) -> Look:
        """Return the look of an element inside one that looks as ``around``."""
        tag, attributes = str(element.local_name), element.etree_element.attrib
        declared = self._declarations(element)
        variables = {**around.variables, **{name: value for name, value in declared.items() if name.startswith("--")}}
        own = {name: list(_resolved(value, variables)) for name, value in declared.items()}
        look = replace(
            around,
            block=tag in _BLOCKS,
            bold=around.bold or tag in _BOLD,
            italic=around.italic or tag in _ITALIC,
            raised=around.raised or tag == "sup",
            preformatted=around.preformatted or tag in ("pre", "textarea"),
            displayed=(tag not in _NOT_DISPLAYED or (tag == "dialog" and "open" in attributes))
            and "hidden" not in attributes,
            variables=variables,
        )
        if tag == "a" and "href" in attributes:
            look = replace(look, color=_LINK)
        if tag in ("del", "s", "strike"):
            look = replace(look, hidden=look.hidden or HiddenReason.STRUCK)
        if found := _color(attributes.get("text" if tag == "body" else "color", "")):
            look = replace(look, color=found[0])
        if "background" in attributes:
            look = replace(look, ground=None)
        if found := _color(attributes.get("bgcolor", "")):
            look = replace(look, ground=found[0])
        for step in (_displayed, _lettered, _coloured, _placed):
            look = step(look, around, own)
        return look

    def _add(self, rules: Sequence[Any]) -> None:
        for rule in rules:
            if rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer") and rule.content:
                if rule.lower_at_keyword != "media" or _applies(tinycss2.serialize(rule.prelude)):
                    self._add(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True))
            elif rule.type == "qualified-rule":
                declared = _parsed(rule.content)
                try:
                    selectors = cssselect2.compile_selector_list(rule.prelude) if declared else ()
                except cssselect2.SelectorError:
                    continue
                for selector in selectors:
                    if selector.pseudo_element is None:
                        self._matcher.add_selector(selector, declared)

    def _declarations(self, element: cssselect2.ElementWrapper) -> Declarations:
        """Return the declarations in force: later ones and more specific ones win, then the element's own."""
        levels = [declared for *_, declared in self._matcher.match(element)]
        if style := element.etree_element.get("style"):
            levels.append(_parsed(tinycss2.parse_component_value_list(style)))
        normal = {name: tokens for level in levels for name, (tokens, important) in level.items() if not important}
        return normal | {name: tokens for level in levels for name, (tokens, weighs) in level.items() if weighs}


def _applies(queries: str) -> bool:
    """Return whether one of the media queries holds for an ordinary window on a screen."""
    return any(map(_holds, queries.split(",")))


def _holds(query: str) -> bool:
    found = _QUERY.fullmatch(query.strip())
    if found is None:
        return False
    features = [_has(name.casefold(), value.strip()) for name, value in _FEATURE.findall(found["features"])]
    holds = found["kind"].casefold() in ("", "all", "screen") and all(features)
    return holds != bool(found["no"])


def _has(name: str, value: str) -> bool:
    """Return whether a window has a feature; one that is not known it has not."""
    if name in ("min-width", "max-width", "min-height", "max-height"):
        tokens = tinycss2.parse_component_value_list(value, skip_comments=True)
        length = _length([one for one in tokens if one.type != "whitespace"], 12.0)
        return length is not None and (length <= _WINDOW if name.startswith("min") else length >= _WINDOW)
    return (name, value.casefold()) in _FEATURES


_FEATURES = {("prefers-color-scheme", "light"), ("orientation", "landscape"), ("hover", "hover"), ("hover", ""),
             ("pointer", "fine"), ("color", ""), ("scripting", "enabled")}  # fmt: skip


def _resolved(tokens: Sequence[Any], variables: Declarations, depth: int = 0) -> Iterator[Any]:
    """Yield the tokens with variables replaced by their values."""
    for token in tokens:
        if token.type != "function" or token.lower_name != "var" or depth > _MAX_DEPTH:
            yield token
            continue
        arguments = [one for one in token.arguments if one.type not in ("whitespace", "comment")]
        name = str(arguments[0].value).casefold() if arguments else ""
        yield from _resolved(variables.get(name, arguments[2:]), variables, depth + 1)


def _parsed(content: Sequence[Any]) -> dict[str, tuple[Sequence[Any], bool]]:
    declared = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    return {
        one.lower_name: ([token for token in one.value if token.type not in ("whitespace", "comment")], one.important)
        for one in declared
        if one.type == "declaration"
    }


def _displayed(look: Look, around: Look, own: Declarations) -> Look:
    display, visibility = _keyword(own, "display"), _keyword(own, "visibility")
    if display == "none" or _keyword(own, "content-visibility") == "hidden":
        look = replace(look, displayed=False)
    elif display and display != "contents":
        look = replace(look, block=not display.startswith("inline"), displayed=look.displayed or display != "inherit")
    if visibility in ("hidden", "collapse", "visible"):
        look = replace(look, invisible=visibility != "visible")
    filtered = [_first(one.arguments) for one in own.get("filter", ()) if _is_function(one, "opacity")]
    for opacity in filter(lambda one: one is not None, [_number(own, "opacity"), *filtered]):
        look = replace(look, opacity=look.opacity * float(opacity or 0.0))
    return replace(look, hidden=look.hidden or HiddenReason.TRANSPARENT) if look.opacity < _MIN_ALPHA else look


def _lettered(look: Look, around: Look, own: Declarations) -> Look:
    shorthand = [token for token in own.get("font", ()) if token.type in ("dimension", "percentage")
                 or (token.type == "number" and token.value == 0)]  # fmt: skip
    for size in (shorthand[:1], own.get("font-size", ())):
        if (points := _length(size, around.points, around.points)) is not None:
            look = replace(look, points=points)
    markers = [one.lower_value for name in ("list-style", "list-style-type") for one in own.get(name, ())
               if one.type == "ident"]  # fmt: skip
    look = replace(look, marker=markers[0]) if markers else look
    if weight := _keyword(own, "font-weight") or _number(own, "font-weight"):
        look = replace(look, bold=weight in ("bold", "bolder") or (isinstance(weight, float) and weight >= 600))
    if style := _keyword(own, "font-style"):
        look = replace(look, italic=style in ("italic", "oblique"))
    if align := _keyword(own, "vertical-align"):
        look = replace(look, raised=align == "super")
    if space := _keyword(own, "white-space"):
        look = replace(look, preformatted=space.startswith("pre") or space == "break-spaces")
    lines = {token.lower_value for name in ("text-decoration", "text-decoration-line") for token in own.get(name, ())
             if token.type == "ident"}  # fmt: skip
    if "line-through" in lines:
        look = replace(look, hidden=look.hidden or HiddenReason.STRUCK)
    return look


def _coloured(look: Look, around: Look, own: Declarations) -> Look:
    grounds = [token for name in ("background", "background-color", "background-image") for token in own.get(name, ())]
    clips = {_keyword(own, name) for name in ("background-clip", "-webkit-background-clip")}
    shadow = _keyword(own, "text-shadow") != "none" and "text-shadow" in own
    if "text" in clips or shadow:  # the letters are not drawn in their colour alone
        return replace(look, ground=None)
    if any(token.type in ("url",) or (token.type == "function" and not _color(token)) for token in grounds):
        look = replace(look, ground=None)
    elif found := next((color for token in grounds if (color := _color(token))), None):
        look = replace(look, ground=found[0] if found[1] > 0.5 else around.ground)
    if _keyword(own, "color") == "auto":  # not of CSS: that of other formats
        look = replace(look, color=None)
    for name in ("color", "-webkit-text-fill-color"):
        if told := _color(own[name][0]) if own.get(name) else None:
            look = replace(look, color=told[0])
            if told[1] < _MIN_ALPHA:
                look = replace(look, hidden=look.hidden or HiddenReason.TRANSPARENT)
    return look


def _placed(look: Look, around: Look, own: Declarations) -> Look:
    lengths = {name: _length(own[name], look.points) for name in own}
    away = [lengths.get(name) for name in ("text-indent", "margin-left", "margin-top")]
    for one in own.get("transform", ()):
        if one.type == "function" and one.lower_name.startswith("translate"):
            away += [_length([part], look.points) for part in one.arguments]
        elif one.type == "function" and one.lower_name.startswith("scale") and _first(one.arguments) == 0:
            return replace(look, hidden=look.hidden or HiddenReason.SMALL)
    for one in own.get("clip-path", ()):
        size = _first(one.arguments) if one.type == "function" else None
        if size is not None and (
            (one.lower_name == "inset" and size >= 0.5) or (one.lower_name == "circle" and not size)
        ):
            return replace(look, hidden=look.hidden or HiddenReason.CLIPPED)
    if _keyword(own, "position") in ("absolute", "fixed"):
        away += [lengths.get(name) for name in ("left", "top", "right", "bottom")]
        clip = tinycss2.serialize(own["clip"]) if "clip" in own else ""
        if clip and all(one in ("0", "1") for one in re.findall(r"\d+", clip)):
            return replace(look, hidden=look.hidden or HiddenReason.CLIPPED)
    if any(length is not None and length < -_FAR for length in away):
        return replace(look, hidden=look.hidden or HiddenReason.OUTSIDE)
    is_cut = {_keyword(own, name) for name in ("overflow", "overflow-x", "overflow-y")} & {"hidden", "clip"}
    sides = [lengths.get(name) for name in ("height", "max-height", "width", "max-width")]
    if is_cut and any(length is not None and length < MIN_POINTS for length in sides):
        return replace(look, hidden=look.hidden or HiddenReason.CLIPPED)
    return look


def _is_function(token: Any, name: str) -> bool:
    return bool(token.type == "function" and token.lower_name == name)


def _first(arguments: Sequence[Any]) -> float | None:
    """Return the first number among the arguments of a function; percentages as fractions."""
    found = next((one for one in arguments if one.type in ("number", "percentage", "dimension")), None)
    return None if found is None else float(found.value) / (100 if found.type == "percentage" else 1)


def _keyword(own: Declarations, name: str) -> str:
    tokens = own.get(name, ())
    return str(tokens[0].lower_value) if tokens and tokens[0].type == "ident" else ""


def _number(own: Declarations, name: str) -> float | None:
    tokens = own.get(name, ())
    if tokens and tokens[0].type in ("number", "percentage"):
        return float(tokens[0].value) / (100 if tokens[0].type == "percentage" else 1)
    return None


def _length(tokens: Sequence[Any], em: float, whole: float | None = None) -> float | None:
    """Return points; ``em``: those of the letters, ``whole``: of what a percentage is taken."""
    token = tokens[0] if tokens else None
    if token is None:
        return None
    if token.type == "number":
        return float(token.value) * 0.75
    if token.type == "dimension":
        per_unit = {**_POINTS, "em": em, "rem": 12.0, "ex": em / 2, "ch": em / 2, "vw": 8.0, "vh": 6.0}
        unit = per_unit.get(token.lower_unit)
        return float(token.value) * unit if unit is not None else None
    if token.type == "percentage" and whole is not None:
        return float(token.value) / 100 * whole
    if token.type == "ident" and whole is not None:
        return _SIZES.get(token.lower_value)
    return None


def _color(value: Any) -> tuple[Color, float] | None:
    """Return the colour and its opacity, 0 to 1, of a token or a text."""
    found = tinycss2.color4.parse_color(value) if value else None
    if found is None or isinstance(found, str):
        return None
    red, green, blue = (round(255 * float(part or 0.0)) for part in found.to("srgb").coordinates)
    return (red, green, blue), float(found.alpha)


def children(element: cssselect2.ElementWrapper) -> Iterator[str | cssselect2.ElementWrapper]:
    """Yield the text and the elements inside an element, in their order."""
    if element.etree_element.text:
        yield str(element.etree_element.text)
    for child in element.iter_children():
        if isinstance(child.etree_element.tag, str):  # no comment, no processing instruction
            yield child
        if child.etree_element.tail:
            yield str(child.etree_element.tail)
