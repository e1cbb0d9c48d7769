"""Foreign text made harmless for Markdown, on the screen and in exports alike."""

import re

_SYNTAX = re.compile(r"([\\`*{}\[\]()#+!|<>~$^=&]|:(?=[^\W\d]|:)|(?<![^\W_])[_-]|[_-](?![^\W_]))")
_ACTIVE = re.compile(r"([\\\[\]<$!]|&(?=#?\w+;)|:(?=[^\W\d]|:))")
_SOUGHT_IN_TEXT = re.compile(r"(?<=:)(?=//|[\w+\-/]+:)|(?<=www)(?=\.)|(?<=[\w.+\-])(?=@[\w\-])", re.IGNORECASE)
"""Inside icon codes and addresses: they are looked for in the parsed text, where no backslash is left to stop it."""
_WORD_JOINER = "\u2060"
_FORMULA = re.compile(
    r"\\\(([^$`\n]{1,400}?)\\\)|\\\[([^$`\n]{1,400}?)\\\]|\$\$([^$`\n]{1,400})\$\$|"
    r"\$(?!\s)(?=[^$`\n]{0,400}?[\\^_])([^$`\n]{1,400}+)(?<!\s)\$(?!\d)"
)
_COMMAND = re.compile(r"\\([a-zA-Z]+|.)")
_DRAWN = frozenset(
    "frac dfrac tfrac sqrt binom sum prod int iint oint lim max min sup inf log ln exp sin cos tan cot arcsin arccos "
    "arctan sinh cosh tanh det dim mod bmod pmod gcd alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta "
    "iota kappa lambda mu nu xi pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma "
    "Phi Psi Omega cdot times div pm mp ast star circ bullet le leq ge geq ne neq lt gt ll gg approx sim simeq equiv "
    "cong propto in notin subset subseteq cup cap setminus emptyset forall exists neg land lor to rightarrow leftarrow "
    "Rightarrow Leftarrow leftrightarrow Leftrightarrow mapsto infty partial nabla angle degree prime ldots cdots dots "
    "left right big Big bigg Bigg lfloor rfloor lceil rceil langle rangle mid parallel perp quad qquad text mathrm "
    "mathbf mathit mathcal mathbb operatorname overline underline hat bar vec dot ddot tilde".split()
) | frozenset(",;:! {}%&#_|")
"""LaTeX commands and signs allowed in a formula: nothing that links, loads, colours, moves or makes room."""


def escape(text: str) -> str:
    """Show text from a document exactly, in one paragraph: no character of it is Markdown."""
    return _SYNTAX.sub(r"\\\1", _SOUGHT_IN_TEXT.sub(_WORD_JOINER, " ".join(text.split())))


def escape_lines(text: str) -> str:
    """Return the same with line breaks kept; list marks and numbers at a line's start stay text."""
    lines = [re.sub(r"^(\d+)([.)])", r"\1\\\2", escape(line)) for line in text.splitlines()]
    return "  \n".join(lines)


def verbatim(text: str, *, always: bool = False) -> str:
    """Return words of a page, exactly, in one paragraph: unchanged if they contain no Markdown, and as code elsewhere.

    ``always``: as code in any case.
    """
    flat = " ".join(text.split())
    if not always and escape(flat) == flat and not re.match(r"\d{1,9}[.)]", flat):
        return flat
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if "`" in (flat[:1], flat[-1:]) else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def tame(text: str) -> str:
    """Keep a model's lists, tables, emphasis and formulas; images, links, HTML and icon codes become plain text."""
    pieces, at = [], 0
    for match in _FORMULA.finditer(text):
        label = next(group for group in match.groups() if group is not None).strip()
        if label and not label.endswith("\\") and all(command in _DRAWN for command in _COMMAND.findall(label)):
            drawn = label.replace("<", "\\lt ").replace(">", "\\gt ")
            pieces += [_tame(text[at : match.start()]), f"${drawn}$"]
            at = match.end()
    return "".join([*pieces, _tame(text[at:])])


def _tame(text: str) -> str:
    return _ACTIVE.sub(r"\\\1", _SOUGHT_IN_TEXT.sub(_WORD_JOINER, text))
