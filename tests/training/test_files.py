"""Which files and folders a program's own sources and functions are seen to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_ascendenv.training.files import below, named

FOLDER = ""  # set by a test, as a program's own constant


class Source:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)

    def __getitem__(self, index: int) -> int:
        return index

    def __len__(self) -> int:
        return 4


class WithConstant(Source):
    def __getitem__(self, index: int) -> str:
        return f"{FOLDER}/{index}"


@dataclass(slots=True)
class Slotted:
    root: str


class Rude(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise RuntimeError("no length for you")


@pytest.fixture
def images(tmp_path: Path) -> list[str]:
    """48 files of 10 bytes in two folders."""
    for number in range(48):
        file = tmp_path / "images" / f"class{number % 2}" / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"0123456789")
    return sorted(map(str, tmp_path.rglob("*.jpg")))


def rows(folder: str) -> Iterator[str]:
    yield folder


def test_a_folder_by_any_way_of_holding_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path)
    monkeypatch.setitem(globals(), "FOLDER", folder)

    def closed_over() -> str:
        return folder

    holders = {
        "attribute": Source(root=folder),
        "path object": Source(root=tmp_path),
        "slots": Slotted(folder),
        "inner data set": Source(inner=Source(inner=Source(root=folder))),
        "one of several data sets": Source(parts=[Source(root=folder), Source(root=folder)]),
        "constant of its module": WithConstant(),
        "closure": closed_over,
        "argument of a generator": rows(folder),
        "partial": partial(rows, folder),
        "default": lambda index, root=folder: root,
        "method": Source(root=folder).__getitem__,
    }
    assert {how: named(holder)[0] for how, holder in holders.items()} == dict.fromkeys(holders, (folder,))


def test_a_list_of_files_is_told_by_its_folder(images: list[str], tmp_path: Path) -> None:
    top = str(tmp_path / "images")
    pairs = [(name, 0) for name in images]
    records = [{"img_path": name, "label": "cat"} for name in images]
    for held in (images, tuple(images), set(images), dict.fromkeys(images, 0), pairs, records):
        paths, files = named(Source(names=held))
        assert paths == (top,)
        assert files is not None
        assert (files.count, files.mean) == (48, 10)
        assert files.where in images


def test_texts_of_numpy_and_of_enums_are_plain(images: list[str], tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    root = Enum("Root", {"IMAGES": str(tmp_path)}, type=str).IMAGES
    for held in (np.array(images), np.array(images, object), list(np.array(images)), [(np.str_(images[0]), 0)]):
        paths, files = named(Source(names=held))
        assert files is not None
        assert {type(text) for text in (*paths, files.where)} == {str}
    assert named(Source(root=np.str_(tmp_path)))[0] == named(Source(root=root))[0] == (str(tmp_path),)
    assert type(below(np.str_(tmp_path)).where) is str  # type: ignore[union-attr]


def test_names_beside_their_folder(images: list[str], tmp_path: Path) -> None:
    names = [name.removeprefix(f"{tmp_path}/") for name in images]
    paths, files = named(Source(root=str(tmp_path), names=names))
    assert paths == (str(tmp_path),)
    assert files is not None
    assert files.count == 48


def test_an_indexed_data_set_is_named_without_its_ending(tmp_path: Path) -> None:
    prefix = tmp_path / "wiki_text_document"
    prefix.with_suffix(".bin").write_bytes(b"tokens")
    assert named(Source(path_prefix=str(prefix)))[0] == (f"{prefix}.bin",)


def test_what_is_no_file_is_left_alone(images: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named(Source(split="images", separator="/", device="/dev/null", gone=f"{tmp_path}/none")) == ((), None)
    assert named(Source(data_dir="images"))[0] == ("images",)
    assert named(Source(names=[*images[:2], *map(str, range(1000))]))[1] is None  # two names make no list of files
    tokenizer = type("Tokenizer", (), {})()
    tokenizer.vocab_file = images[0]
    assert named(Source(tokenizer=tokenizer)) == ((), None)


def test_an_image_folder_with_a_broken_link(images: list[str], tmp_path: Path) -> None:
    (tmp_path / "images" / "class0" / "broken.jpg").symlink_to(tmp_path / "gone")
    files = below(str(tmp_path / "images"))
    assert files is not None
    assert (files.count, files.mean) == (49, 10)


def test_a_pipeline_names_what_its_source_and_its_functions_read(
    mindspore: Any, images: list[str], tmp_path: Path
) -> None:
    from mindspore import dataset as ds

    from pytest_ascendenv.training import dataset

    root = tmp_path / "images"

    def load(name: Any) -> Any:
        return root / str(name)

    listed = dataset.walk(ds.GeneratorDataset(Source(names=images), ["name"]).map(load, "name"))
    assert [one.paths for one in listed] == [(str(root),), (str(root),)]
    assert listed[0].files is not None
    strange = Source(names=Rude())
    assert dataset.walk(ds.GeneratorDataset(strange, ["name"], num_samples=2))[0].paths == ()
