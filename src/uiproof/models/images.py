"""Prepare pictures for a provider: they are sent untouched wherever that is possible.

A picture that is too tall for a provider is split into equal bands from top to bottom, or scaled
(`tall="scale"`); one that is too wide is scaled; one that has too many bytes becomes a JPEG, and
smaller if need be. What was done is in the `SentImage`, and the rule is written into the run. The
same bytes in give the same bytes out.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, Literal

from uiproof.errors import InputError
from uiproof.models.names import Endpoint
from uiproof.models.types import Piece, SentImage

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 89_000_000  # just below Pillow's own limit; decoded, 356 MB at most
_JPEG_QUALITIES = (90, 80, 70)
_SHRINK = 0.75  # by step, where not even the lowest quality is small enough
_MEGABYTE = 1_000_000
_CONVERSIONS = BoundedSemaphore(2)  # each takes up to 600 MB for the largest pages

Format = Literal["png", "jpeg", "webp"]
Tall = Literal["split", "scale"]
Prepared = tuple[list[tuple[str, bytes]], SentImage]  # (MIME type, bytes) by piece, top to bottom


@dataclass(frozen=True, slots=True)
class ImageRule:
    """The limits of a provider, and what is done with pictures beyond them.

    The defaults are for servers whose limits are unknown. Where a provider publishes no largest
    side it is that of Anthropic, so that all models get a page in the same pieces. Of each request,
    a megabyte is left for everything but pictures.
    """

    provider: str
    max_side: int = 8000  # pixels
    many: int = 500  # with more pictures than this in a request …
    max_side_of_many: int = 8000  # … this is the largest side
    max_bytes: int = 19 * _MEGABYTE  # of one picture in base64
    max_request_bytes: int = 19 * _MEGABYTE  # of all pictures in base64
    max_images: int = 500  # in one request
    tall: Tall = "split"

    def as_json(self) -> dict[str, Any]:
        """Return the rule in plain keys, for the manifest of a run."""
        return {
            **asdict(self),
            "untouched": "PNG, JPEG and WebP of 8 bits that are within the limits",
            "too_tall": "equal bands, top to bottom, no overlap"
            if self.tall == "split"
            else "scaled with Lanczos",
            "too_wide": "scaled with Lanczos",
            "too_many_bytes": {"jpeg_qualities": list(_JPEG_QUALITIES), "then_scaled_by": _SHRINK},
            "max_pixels": MAX_PIXELS,
        }


_RULES = {
    "openai": ImageRule(
        "openai",
        max_bytes=20 * _MEGABYTE,
        max_request_bytes=49 * _MEGABYTE,  # published: 50 MB
    ),
    "anthropic": ImageRule(
        "anthropic",
        many=20,
        max_side_of_many=2000,
        max_bytes=5 * 2**20,  # its error messages count in base64
        max_request_bytes=31 * _MEGABYTE,  # published: 32 MB
        max_images=100,  # 600 with the models of a long context
    ),
    # Published: 20 MB of inline data.
    "google": ImageRule("google", many=3000, max_images=3000),
}


def rule_for(endpoint: Endpoint, tall: Tall = "split") -> ImageRule:
    """Return the rule of a provider; `tall` is for pages that are too tall for it."""
    rule = _RULES.get(endpoint.provider) or ImageRule(endpoint.provider)
    return replace(rule, tall=tall)


def prepare_all(images: Sequence[bytes], rule: ImageRule) -> list[Prepared]:
    """Return the pictures of one request, each as a list of pieces and what was done to it.

    All together they keep to the provider's limits. Raise `InputError` for data that is no
    picture, and for more pictures than the provider takes.
    """
    sources = [_inspect(data) for data in images]
    rule = _by_count(sources, rule)
    prepared = [_prepare(source, rule) for source in sources]
    limit = _limit_per_piece([sent for _, sent in prepared], rule)
    if limit >= rule.max_bytes:
        return prepared
    tighter = replace(rule, max_bytes=limit)
    return [
        _prepare(source, tighter) if any(_base64(p.bytes) > limit for p in done[1].pieces) else done
        for source, done in zip(sources, prepared, strict=True)
    ]


def measure_all(images: Sequence[bytes], rule: ImageRule) -> list[SentImage]:
    """Return what `prepare_all` would do, from the headers of the files; bytes are estimates."""
    sources = [_inspect(data) for data in images]
    rule = _by_count(sources, rule)
    return [_estimate(source, rule) for source in sources]


@dataclass(frozen=True, slots=True)
class _Source:
    """A picture file and what its header says."""

    data: bytes = field(repr=False)
    width: int
    height: int
    format: Format | None  # None: to be converted for every provider


@dataclass(frozen=True, slots=True)
class _Layout:
    """The size that a picture is brought to, and the heights of its bands."""

    width: int
    height: int
    bands: tuple[int, ...]


@contextmanager
def _opened(data: bytes) -> Iterator[Image.Image]:
    """Open the picture in a file; whatever is wrong with it becomes an `InputError`."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
            _check_size(*image.size)
            yield image
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"The picture is too large: {error}", remedy="Give a smaller picture."
        ) from None
    except UnidentifiedImageError:
        raise InputError(
            "The picture is in no format that models take, or its header is damaged.",
            remedy="Give a PNG, JPEG or WebP file.",
        ) from None
    except Exception as error:  # damaged files make Pillow raise almost anything
        raise InputError(
            f"The picture cannot be decoded: {error}", remedy="Give a whole PNG, JPEG or WebP file."
        ) from error


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise InputError(
            f"The picture has {width} x {height} pixels, more than {MAX_PIXELS:,}.",
            remedy="Give a smaller picture.",
        )


def _inspect(data: bytes) -> _Source:
    with _opened(data) as image:
        formats: dict[str | None, Format] = {"PNG": "png", "JPEG": "jpeg", "WEBP": "webp"}
        form = formats.get(image.format)
        width, height = image.size
        turned = _orientation(image)
        if turned >= 5:  # lies on its side
            width, height = height, width
        # Servers differ in how they read these, so all of them get the same plain picture.
        deep = form == "png" and data[24] > 8  # bits per channel
        if turned != 1 or deep or image.mode == "CMYK" or getattr(image, "is_animated", False):
            form = None
    return _Source(data, width, height, form)


def _orientation(image: Image.Image) -> int:
    # Cameras write it into JPEG files. To find it in a PNG would take decoding.
    found = image.getexif().get(0x0112, 1) if image.format == "JPEG" else 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _by_count(sources: Sequence[_Source], rule: ImageRule) -> ImageRule:
    """Return the rule for as many pictures as there are, pieces counted."""

    def count() -> int:
        return sum(len(_layout(s.width, s.height, rule).bands) for s in sources)

    if count() > rule.many:
        rule = replace(rule, max_side=min(rule.max_side, rule.max_side_of_many))
    if (pictures := count()) > rule.max_images:
        raise InputError(
            f"A request with {pictures} pictures is more than {rule.provider} takes, which is "
            f"{rule.max_images}.",
            remedy="Give fewer pictures"
            + (", or have tall ones scaled instead of split." if rule.tall == "split" else "."),
        )
    return rule


def _layout(width: int, height: int, rule: ImageRule, factor: float = 1.0) -> _Layout:
    scale = min(factor, rule.max_side / width)
    if rule.tall == "scale":
        scale = min(scale, rule.max_side / height)
    new_width, new_height = (max(1, round(side * scale)) for side in (width, height))
    count = math.ceil(new_height / rule.max_side)
    rows, left_over = divmod(new_height, count)
    bands = tuple(rows + (1 if number < left_over else 0) for number in range(count))
    return _Layout(new_width, new_height, bands)


def _is_untouched(source: _Source, layout: _Layout, rule: ImageRule) -> bool:
    return (
        source.format is not None
        and layout == _Layout(source.width, source.height, (source.height,))
        and _base64(len(source.data)) <= rule.max_bytes
    )


def _prepare(source: _Source, rule: ImageRule) -> Prepared:
    if source.format and _is_untouched(source, _layout(source.width, source.height, rule), rule):
        with _opened(source.data) as image:
            # Check that the file is whole; for a PNG, checksums take a hundredth of the time.
            image.verify() if source.format == "png" else image.load()
        piece = Piece(source.width, source.height, source.format, len(source.data))
        sent = SentImage(source.width, source.height, 1.0, (piece,))
        return [(f"image/{source.format}", source.data)], sent
    with _CONVERSIONS:
        files, sent = _converted(source, rule)
    return list(files), sent


@lru_cache(maxsize=8)  # a page that takes seconds is asked about with several prompts and tries
def _converted(source: _Source, rule: ImageRule) -> tuple[tuple[tuple[str, bytes], ...], SentImage]:
    with _opened(source.data) as image:
        image.load()
        pixels = _plain(image)
    for form, quality, factor in _attempts(source):
        layout = _layout(source.width, source.height, rule, factor)
        encoded = _encode(pixels, layout, form, quality, rule.max_bytes)
        if encoded:
            pieces = tuple(
                Piece(layout.width, rows, form, len(data))
                for rows, data in zip(layout.bands, encoded, strict=True)
            )
            sent = SentImage(source.width, source.height, _scale(source, layout), pieces)
            return tuple((f"image/{form}", data) for data in encoded), sent
    raise InputError(
        f"A picture of {source.width} x {source.height} pixels cannot be brought down to "
        f"{rule.max_bytes:,} bytes, the most that is left for it in a request.",
        remedy="Give fewer pictures.",
    )


def _attempts(source: _Source) -> Iterator[tuple[Format, int, float]]:
    """Yield formats, qualities and sizes in the order in which they are tried."""
    if source.format != "jpeg":  # what has been through JPEG only grows as a PNG
        yield "png", 0, 1.0
    for quality in _JPEG_QUALITIES:
        yield "jpeg", quality, 1.0
    factor = _SHRINK
    while factor * max(source.width, source.height) >= 1:
        yield "jpeg", _JPEG_QUALITIES[-1], factor
        factor *= _SHRINK


def _plain(image: Image.Image) -> Image.Image:
    """Return the pixels as grey, RGB or RGBA of 8 bits, upright, first frame only."""
    from PIL import ImageOps

    if image.format == "JPEG":
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits of grey
        image = image.point(lambda value: value / 257).convert("L")
    opaque = "L" if image.mode in ("1", "L") else "RGB"
    mode = "RGBA" if image.has_transparency_data else opaque
    # Converting to the same mode would copy it, and it may be large.
    return image if image.mode == mode else image.convert(mode)


def _encode(
    pixels: Image.Image, layout: _Layout, form: Format, quality: int, max_bytes: int
) -> list[bytes] | None:
    """Return the bands of a layout; None where one of them has too many bytes."""
    from PIL import Image

    if pixels.size != (layout.width, layout.height):
        pixels = pixels.resize((layout.width, layout.height), Image.Resampling.LANCZOS)
    encoded: list[bytes] = []
    top = 0
    for rows in layout.bands:
        band = pixels.crop((0, top, layout.width, top + rows))
        band.info.clear()  # colour profiles, comments: nothing that a model sees
        top += rows
        buffer = io.BytesIO()
        if form == "png":
            band.save(buffer, "PNG", compress_level=6)
        else:
            _on_white(band).save(buffer, "JPEG", quality=quality, subsampling=0)
        if _base64(buffer.tell()) > max_bytes:
            return None
        encoded.append(buffer.getvalue())
    return encoded


def _on_white(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode != "RGBA":
        return image
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _estimate(source: _Source, rule: ImageRule) -> SentImage:
    layout = _layout(source.width, source.height, rule)
    form: Format = source.format or "png"
    total = len(source.data)
    if not _is_untouched(source, layout, rule):
        form = "jpeg" if form == "jpeg" else "png"
        total = round(total * layout.width * layout.height / (source.width * source.height))
    sizes = [max(1, total * rows // layout.height) for rows in layout.bands]
    if any(_base64(size) > rule.max_bytes for size in sizes):
        form, sizes = "jpeg", [min(size, rule.max_bytes // 4 * 3) for size in sizes]
    pieces = tuple(
        Piece(layout.width, rows, form, size)
        for rows, size in zip(layout.bands, sizes, strict=True)
    )
    return SentImage(source.width, source.height, _scale(source, layout), pieces)


def _scale(source: _Source, layout: _Layout) -> float:
    # From the longer side, where rounding to whole pixels matters less.
    if source.width >= source.height:
        return layout.width / source.width
    return layout.height / source.height


def _limit_per_piece(sent: Sequence[SentImage], rule: ImageRule) -> int:
    """Return the most bytes that a piece may have so that all of them fit into one request."""
    sizes = sorted(_base64(piece.bytes) for image in sent for piece in image.pieces)
    left = rule.max_request_bytes
    for number, size in enumerate(sizes):
        share = left // (len(sizes) - number)
        if size > share:
            return min(share, rule.max_bytes)
        left -= size
    return rule.max_bytes


def _base64(size: int) -> int:
    """Return the length of so many bytes in base64."""
    return (size + 2) // 3 * 4
