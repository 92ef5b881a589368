"""Mirrors: frames that decompress to the source, and bytes that nobody can account for kept."""

import io
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from memory import mirror
from memory.mirror import Label, UnknownFrames

LABEL = Label("", "claude-code", "projects/-w-app/ä.jsonl", 0, "/home/x/ä.jsonl", "2026-05-01T00:00:00.000Z", "lines")


def write(path: Path, *pieces: bytes) -> int:
    """Append pieces as frames and return the mirror's length."""
    known = path.stat().st_size if path.exists() else 0
    for piece in pieces:
        frame = mirror.compress(piece)
        known = mirror.append(path, known, LABEL, frame.stored) + len(frame.stored)
    return known


def test_any_decoder_reads_a_mirror_as_the_source(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    write(path, b"one\n", b"", b"two\n" * 1000)
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(path.read_bytes()), read_across_frames=True) as stream:
        assert stream.read() == b"one\n" + b"two\n" * 1000
    assert [frame.data for frame in mirror.frames(path)] == [b"one\n", b"", b"two\n" * 1000]


def test_a_mirror_says_what_it_is_of(tmp_path: Path) -> None:
    write(tmp_path / "a.zst", b"one\n")
    assert mirror.read_label(tmp_path / "a.zst") == LABEL
    (tmp_path / "b.zst").write_bytes(b"something else")
    (tmp_path / "c.zst").write_bytes(b"")
    assert mirror.read_label(tmp_path / "b.zst") is mirror.read_label(tmp_path / "c.zst") is None


@pytest.mark.parametrize("left", [b"whole", b"torn", b"longer"])
def test_what_a_kill_left_is_written_over(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "a.zst"
    known = write(path, b"one\n")
    stored = mirror.compress(b"two\nthree\n" if left == b"longer" else b"two\n").stored
    with path.open("ab") as file:
        file.write(stored[:7] if left == b"torn" else stored)
    assert mirror.settle(path, known, b"two\n") is None
    frame = mirror.compress(b"two\n")
    mirror.append(path, known, LABEL, frame.stored)
    assert [frame.data for frame in mirror.frames(path)] == [b"one\n", b"two\n"]


def test_frames_of_another_database_are_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    known = write(path, b"one\n")
    write(path, b"two\n", b"three\n")
    before = path.read_bytes()
    with pytest.raises(UnknownFrames, match="rebuild"):
        mirror.settle(path, known, b"two\n")
    assert path.read_bytes() == before


@pytest.mark.parametrize("garbage", [b"x" * (3 << 20), mirror.compress(b"not what the source says\n").stored])
def test_bytes_nobody_can_account_for_are_kept_aside(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "a.zst"
    known = write(path, b"one\n")
    with path.open("ab") as file:
        file.write(garbage)
    before = path.read_bytes()
    orphan = mirror.settle(path, known, b"two\n")
    assert orphan is not None
    assert orphan.read_bytes() == before
    assert path.read_bytes() == before[:known]


NAMES = st.text(max_size=300) | st.sampled_from(["..", ".", "a/../../b", "/etc/passwd", "a//b", "con\x00", "é", "CON"])


@given(logical=NAMES, generation=st.integers(0, 3))
def test_no_name_leaves_the_folder_of_its_source(logical: str, generation: int) -> None:
    path = mirror.relative_path("claude-code", logical, generation)
    parts = path.split("/")
    assert parts[0] == "claude-code"
    assert len(parts) >= 2
    assert all(part not in ("", ".", "..") and len(part.encode()) < 255 and "\x00" not in part for part in parts)


@pytest.mark.parametrize(("name", "generation", "other"), [("a.g1", 0, "a"), ("a.zst/b", 0, "a"), ("A.ZST/b", 0, "a")])
def test_no_name_stands_in_the_way_of_another(name: str, generation: int, other: str) -> None:
    paths = [mirror.relative_path("s", name, generation), *(mirror.relative_path("s", other, n) for n in (0, 1))]
    assert len(set(paths)) == 3
    assert not any(path.lower().startswith(f"{before.lower()}/") for path in paths for before in paths)


@given(first=NAMES, second=NAMES)
def test_two_names_never_share_a_mirror(first: str, second: str) -> None:
    if first != second:
        assert mirror.relative_path("s", first, 0) != mirror.relative_path("s", second, 0)


def test_a_frame_is_known_by_its_own_bytes_too(tmp_path: Path) -> None:
    """The format has bits that no decoder reads."""
    path = tmp_path / "m.zst"
    stored = mirror.compress(b"some text that repeats, some text that repeats " * 9).stored
    path.write_bytes(stored)
    [frame] = mirror.frames(path)
    assert frame.stored_sha256 == mirror.stored_sha256(path, 0, len(stored))
    flipped = bytearray(stored)
    flipped[4] ^= 0x10
    path.write_bytes(bytes(flipped))
    [other] = mirror.frames(path)
    assert other.data == frame.data
    assert other.stored_sha256 != frame.stored_sha256
