"""FlashRank's cross-encoder behind the Reranker port: used where its weights are, fetched only when asked."""

import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pincite.core.domain.documents import PageKey, Passage
from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.search import Candidate, SearchPlan

MODEL = "ms-marco-MiniLM-L-12-v2"
SIZE_MB = 22
MAX_BYTES = 400 * 2**20
"""Of the archive, and of what comes out of it."""
LICENCE = "Apache-2.0 (model), CC BY-SA (FlashRank's hosting)"
SOURCE = "https://huggingface.co/prithivida/flashrank/resolve/main/{}.zip"


class FlashReranker:
    """Reads question and passage together; slower and better than the built-in scorer."""

    floors = (0.1, 0.01)
    """Its scores lie near 1 or near 0. Set low, not measured: what it thinks nothing of is left out, no more."""

    def __init__(self, models_dir: Path, *, model: str = MODEL) -> None:
        """Raises ModelUnavailableError when the weights are not in ``models_dir``; never downloads."""
        if not is_cached(models_dir, model=model):
            raise ModelUnavailableError(
                f"The weights of {model} are not on this machine.", hint="Download them on the settings page."
            )
        from flashrank import Ranker  # half a second, spared where the weights are not here

        self.name = f"FlashRank {model}"
        self._ranker = Ranker(model_name=model, cache_dir=str(models_dir), max_length=256, log_level="WARNING")

    def rate(
        self,
        plan: SearchPlan,
        candidates: Sequence[Candidate],
        pages: Mapping[PageKey, Sequence[Passage]],
        page_counts: Mapping[str, int],
    ) -> list[Candidate]:
        """Return the cross-encoder's probability that a passage answers the question."""
        if not candidates:
            return []
        from flashrank import RerankRequest

        passages = [{"id": number, "text": _readable(candidate)} for number, candidate in enumerate(candidates)]
        results = self._ranker.rerank(RerankRequest(query=plan.sub_queries[0].text, passages=passages))
        by_number = {int(result["id"]): float(result["score"]) for result in results}
        return [candidate.scored(reranked=by_number[number]) for number, candidate in enumerate(candidates)]


def is_cached(models_dir: Path, *, model: str = MODEL) -> bool:
    folder = models_dir / model
    return folder.is_dir() and any(folder.glob("*.onnx")) and (folder / "tokenizer.json").exists()


def download(
    models_dir: Path,
    *,
    model: str = MODEL,
    source: str = SOURCE,
    progress: Callable[[float], object] = lambda share: None,
) -> None:
    """Download the weights, all or none; ``progress`` gets the share done. Raises ModelUnavailableError."""
    import httpx  # loaded only where somebody asks for the weights

    models_dir.mkdir(parents=True, exist_ok=True)
    archive = models_dir / f"{model}.partial"
    unpacked = models_dir / f"{model}.unpacking"
    try:
        url = source.format(model)
        with httpx.stream("GET", url, follow_redirects=True, timeout=30) as reply, archive.open("wb") as file:
            reply.raise_for_status()
            total = int(reply.headers.get("content-length", 0))
            done = 0
            for chunk in reply.iter_bytes():
                done += file.write(chunk)
                if done > MAX_BYTES:
                    raise OSError("the download is larger than expected")
                progress(done / total if total else 0.0)
        with zipfile.ZipFile(archive) as bundle:
            if sum(entry.file_size for entry in bundle.infolist()) > MAX_BYTES:
                raise OSError("the unpacked weights are larger than expected")
            bundle.extractall(unpacked)
        shutil.move(str(unpacked / model), str(models_dir / model))
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
    ) as error:
        raise ModelUnavailableError(
            f"The weights of {model} could not be downloaded ({error}).",
            hint="Check the network and try again; search continues with the built-in reranker.",
        ) from error
    finally:
        archive.unlink(missing_ok=True)
        shutil.rmtree(unpacked, ignore_errors=True)


def _readable(candidate: Candidate) -> str:
    """Return the input of the cross-encoder: headings first, since a passage often does not state its topic."""
    return "\n".join([*candidate.passage.heading_path[-2:], candidate.passage.text])
