"""Numbers of list items and pages in letters and figures."""

BULLET = "•"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_MAX_COUNT = 4000
"""Beyond this a number is written in figures, whatever the file states."""


def numeral(count: int, form: str) -> str:
    """Return a number in one of Word's forms: decimal, lowerRoman, upperLetter, …"""
    if form == "none":
        return ""
    if not 0 < count < _MAX_COUNT:
        return str(count)
    signs = str(count)
    if form.endswith("Roman"):
        signs = ""
        for worth, sign in _ROMAN:
            signs, count = signs + sign * (count // worth), count % worth
    elif form.endswith("Letter"):
        signs = chr(ord("a") + (count - 1) % 26) * (1 + (count - 1) // 26)
    elif form == "decimalZero":
        signs = f"{count:02}"
    return signs.upper() if form.startswith("upper") else signs
