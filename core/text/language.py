"""Tell a text's language by its script and, in Latin script, by its commonest words."""

import re
from collections import Counter

_SCRIPTS = {
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af",
    "zh": "\u4e00-\u9fff",
    "ar": "\u0600-\u06ff",
    "he": "\u0590-\u05ff",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff",
    "th": "\u0e00-\u0e7f",
    "hi": "\u0900-\u097f",
}
_COMMON = {
    "en": "the of and to in for is that with on by as are this be from which or was not have has",
    "de": "der die und das den von zu mit ist des für auf im dem nicht ein eine als auch werden sich nach bei oder",
    "fr": "le la les des et du une est pour dans que qui sur par au avec ce sont pas plus ou aux cette été",
    "es": "el la los las de y en que del se por para con una es su al como más lo este ha sus entre",
    "it": "il di che la e per un del con non una della sono dei le nel alla gli è da si come anche più",
    "pt": "o de que e do da em um para com uma os no se na por mais as dos não ao das pela à são foi",
    "nl": "de het een van en in is dat op te met voor niet zijn aan er door ook als bij worden naar deze",
    "sv": "och att det som en på är av för med den till inte har om ett kan vi från de så var ska",
    "pl": "w i z na do się nie jest że o to dla przez od po jak oraz są przy tym który lub ze",
}
_STOP_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_WORD = re.compile(r"[^\W\d_]+")
_ENOUGH_TEXT = 20_000


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the text's main language, or None where there is too little to tell."""
    text = text[:_ENOUGH_TEXT]
    letters = sum(map(len, _WORD.findall(text)))
    if letters < 12:
        return None
    shares = {language: len(re.findall(f"[{span}]", text)) / letters for language, span in _SCRIPTS.items()}
    if shares["ja"] > 0.05 and shares["ja"] + shares["zh"] > 0.3:
        return "ja"
    script = max(shares, key=lambda language: shares[language])
    if shares[script] > 0.3:
        return script
    words = [word.lower() for word in _WORD.findall(text)]
    counts = Counter({language: sum(word in common for word in words) for language, common in _STOP_WORDS.items()})
    (best, hits), (_, second) = counts.most_common(2)
    return best if hits >= 4 and hits > 0.05 * len(words) and hits > 1.15 * second else None
