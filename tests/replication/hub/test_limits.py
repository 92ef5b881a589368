"""Bodies are decoded to what is sent on purpose and no further, and only where they are whole."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import InvalidInput
from replication.hub import limits

ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@given(st.binary(max_size=3000), st.sampled_from(sorted(ENCODERS)))
def test_what_was_encoded_comes_back(data: bytes, encoding: str) -> None:
    assert limits.decode(ENCODERS[encoding](data), encoding, 3000) == data


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_without_being_unpacked(encoding: str) -> None:
    bomb = ENCODERS[encoding](b"\0" * (64 << 20))
    tracemalloc.start()
    with pytest.raises(limits.TooLarge):
        limits.decode(bomb, encoding, 2 << 20)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_a_frame_that_asks_for_a_large_window_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, enable_ldm=True)
    data = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = data.compress(b"x" * 100) + data.flush()
    with pytest.raises(InvalidInput):
        limits.decode(body, "zstd", 1000)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_cut_a_longer_and_a_double_stream_are_refused(encoding: str) -> None:
    whole = ENCODERS[encoding](b"some text " * 100)
    for body in (whole[:-1], whole[: len(whole) // 2], whole + b"x", whole + whole, b"", b"nonsense"):
        with pytest.raises(InvalidInput):
            limits.decode(body, encoding, 10_000)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "identity;q=1", "GZIP "])
def test_a_coding_that_no_device_uses_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidInput):
        limits.decode(zlib.compress(b"x"), encoding, 100)


def test_a_plain_body_is_bounded_too() -> None:
    with pytest.raises(limits.TooLarge):
        limits.decode(b"x" * 101, "", 100)
