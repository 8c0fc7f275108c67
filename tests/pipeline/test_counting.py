"""Samples are counted right on every form of pipeline: what one pass counts is what went in."""

from __future__ import annotations

import pytest

from pytest_ascendenv.pipeline.counting import counter
from pytest_ascendenv.pipeline.failures import Uncountable
from pytest_ascendenv.pipeline.sources import source_of

np = pytest.importorskip("numpy", reason="numpy comes with MindSpore, which is not installed")

ROWS = 70


class Images:
    """Seventy images of 5x4x3 with a label."""

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        return np.full((5, 4, 3), index, np.uint8), np.array([index % 10, 1], np.int32)


class Texts:
    """Rows of different lengths."""

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        return (np.ones(index % 7 + 1, np.int32),)


def images(ds):
    return ds.GeneratorDataset(Images(), ["image", "label"], shuffle=False)


def flat(image):
    return image.reshape(-1)


def flatten(images, labels, info):
    return np.concatenate(images), np.stack(labels)


def reduce(images, labels, info):
    return np.array(0.5), np.array([1])


def collate(images, labels):
    return np.stack(images), np.stack(labels)


TREES = {
    "unbatched": lambda ds: images(ds),
    "unbatched, mapped": lambda ds: images(ds).map(flat, ["image"]),
    "batch": lambda ds: images(ds).batch(16),
    "batch, last dropped": lambda ds: images(ds).batch(16, drop_remainder=True),
    "batch of one": lambda ds: images(ds).batch(1),
    "batch of one, map that drops its dimension": lambda ds: (
        images(ds).project(["image"]).batch(1).map(lambda x: x[0], ["image"])
    ),
    "batch larger than the data": lambda ds: images(ds).batch(100),
    "map, batch": lambda ds: images(ds).map(flat, ["image"]).batch(16),
    "batch, map that flattens one column": lambda ds: images(ds).batch(16).map(flat, ["image"]),
    "batch, map that flattens the only column": lambda ds: images(ds).project(["image"]).batch(16).map(flat, ["image"]),
    "batch, map that flattens, data short of a batch": (
        lambda ds: images(ds).take(10).batch(16).map(lambda x: x, ["image"])
    ),
    "batch whose remainder is one row": lambda ds: images(ds).take(33).batch(16).map(lambda x: x, ["image"]),
    "batch, repeat": lambda ds: images(ds).batch(16).repeat(2),
    "repeat, batch": lambda ds: images(ds).repeat(2).batch(16),
    "batch, take": lambda ds: images(ds).batch(16).take(2),
    "batch, skip": lambda ds: images(ds).batch(16).skip(2),
    "batch, rename, project": lambda ds: images(ds).batch(16).rename(["image"], ["x"]).project(["label"]),
    "shuffle, batch": lambda ds: images(ds).shuffle(20).batch(16),
    "zip, batch": lambda ds: ds.zip((images(ds), images(ds).rename(["image", "label"], ["a", "b"]))).batch(16),
    "batch, zip": lambda ds: ds.zip(
        (images(ds).batch(16), images(ds).batch(16).rename(["image", "label"], ["a", "b"]))
    ),
    "concat of two batch sizes": lambda ds: images(ds).batch(16) + images(ds).batch(8),
    "concat of rows, batch": lambda ds: (images(ds) + images(ds)).batch(16),
    "padded_batch": lambda ds: images(ds).padded_batch(16, pad_info={}),
    "ragged rows, padded_batch": lambda ds: ds.GeneratorDataset(Texts(), ["x"], shuffle=False).padded_batch(
        16, pad_info={"x": ([8], 0)}
    ),
    "ragged rows, unbatched": lambda ds: ds.GeneratorDataset(Texts(), ["x"], shuffle=False),
    "bucket_batch_by_length": lambda ds: ds.GeneratorDataset(Texts(), ["x"], shuffle=False).bucket_batch_by_length(
        ["x"], [3, 5], [4, 6, 8], element_length_function=len, pad_info={"x": ([8], 0)}
    ),
    "batch size of a function": lambda ds: images(ds).batch(lambda info: info.get_batch_num() % 3 + 4),
    "batch sampler": lambda ds: ds.GeneratorDataset(
        Images(), ["image", "label"], batch_sampler=[list(range(k, k + 10)) for k in range(0, ROWS, 10)]
    ),
    "batch sampler with collate": lambda ds: ds.GeneratorDataset(
        Images(),
        ["image", "label"],
        batch_sampler=[list(range(k, k + 7)) for k in range(0, ROWS, 7)],
        collate_fn=collate,
    ),
    "per_batch_map that flattens": lambda ds: images(ds).batch(16, per_batch_map=flatten),
    "per_batch_map that reduces": lambda ds: images(ds).take(64).batch(16, per_batch_map=reduce),
    "batch of batches": lambda ds: images(ds).batch(5).batch(7),
    "NumpySlices": lambda ds: ds.NumpySlicesDataset(np.ones((ROWS, 6, 2), np.float32), ["x"]).batch(16),
}

EXPECTED = {
    "batch, last dropped": 64,
    "batch, map that flattens, data short of a batch": 10,
    "batch whose remainder is one row": 33,
    "batch, repeat": 140,
    "repeat, batch": 140,
    "batch, take": 32,
    "batch, skip": 38,
    "concat of two batch sizes": 140,
    "concat of rows, batch": 140,
    "per_batch_map that reduces": 64,
}


def counted(source, **options):
    rows = counter(source, **options).rows
    return sum(rows(item) for item in source_of(source).open())


@pytest.mark.parametrize("name", TREES)
def test_every_tree_counts_the_samples_that_went_in(ds, name):
    assert counted(TREES[name](ds)) == EXPECTED.get(name, ROWS)


def test_an_iterator_of_a_dataset_counts_as_the_dataset(ds):
    iterator = images(ds).batch(16).create_dict_iterator(num_epochs=1)
    assert counted(iterator) == ROWS


def test_dict_rows_of_a_dataset_are_counted_by_the_tree(ds):
    def rows():
        for index in range(12):
            yield ({"id": np.array(index), "name": "x"},)

    assert counted(ds.GeneratorDataset(rows, ["row"])) == 12


def test_mindspore_dataloader_counts_its_batches(ds):
    loader = pytest.importorskip("mindspore.dataset.dataloader", reason="new in MindSpore 2.9")
    assert counted(loader.DataLoader(Images(), batch_size=16)) == ROWS
    assert counted(loader.DataLoader(Images(), batch_size=None)) == ROWS


class Loader:
    """What torch's DataLoader shows of itself."""

    def __init__(self, batch_size, batches, batch_sampler=None):
        self.batch_size, self.batches, self.batch_sampler = batch_size, batches, batch_sampler

    def __iter__(self):
        return iter(self.batches)


def image_batch(rows):
    return np.zeros((rows, 3, 8, 8), np.float32)


@pytest.mark.parametrize(
    ("loader", "samples"),
    [
        (Loader(4, [(image_batch(4), np.zeros(4)), (image_batch(2), np.zeros(2))]), 6),
        (Loader(2, [[image_batch(2), np.zeros(2)]]), 2),
        (Loader(4, [{"epoch": 3, "image": image_batch(4)}, {"epoch": 3, "image": image_batch(1)}]), 5),
        (Loader(4, [{"inputs": {"ids": np.zeros((4, 128), int)}}]), 4),
        (Loader(3, [[(np.zeros((3, 8)), 1), (np.zeros((3, 8)), 0), (np.zeros((3, 8)), 0)]]), 3),
        (Loader(32, [[(np.zeros((5, 8)), 1)] * 32, [(np.zeros((5, 8)), 1)] * 7]), 39),
        (Loader(3, [["a", "b", "c"], ["d"]]), 4),
        (Loader(3, [(("a", "b", "c"), np.zeros(3))]), 3),
        (Loader(None, [image_batch(4)] * 5), 5),
        (Loader(None, [image_batch(4)] * 5, batch_sampler=[[0]]), 20),
    ],
    ids=["pairs", "pairs as many as rows", "dict", "nested dict", "list of as long samples", "list of samples",
         "strings", "strings and tensor", "not batched", "batch sampler"],
)  # fmt: skip
def test_loaders_count_their_batches(loader, samples):
    assert counted(loader) == samples


def test_plain_items_are_one_sample_each_unless_the_user_says_more():
    items = [image_batch(8)] * 3
    assert counted(items) == 3
    assert counted(items, batch_size=8) == 24
    assert counted(items, count=lambda item: np.int64(item.shape[0])) == 24
    assert counted(iter(items)) == 3


@pytest.mark.parametrize("batch_size", [0, -1, True, 2.5, "32"])
def test_a_wrong_batch_size_is_refused(batch_size):
    with pytest.raises((TypeError, ValueError), match="batch_size is"):
        counter([], batch_size=batch_size)


@pytest.mark.parametrize("value", [None, 1.5, -3, "4"])
def test_a_count_that_gives_no_number_of_samples_is_named(value):
    with pytest.raises(Uncountable, match="count="):
        counter([], count=lambda item: value).rows(0)


def test_a_batch_without_a_length_is_not_guessed():
    with pytest.raises(Uncountable, match=r"count= or batch_size="):
        counted(Loader(4, [object()]))


def test_batch_dimension_that_a_map_has_moved(ds):
    rows = ds.GeneratorDataset(lambda: ((np.ones((8, 8), np.float32),) for _ in range(256)), ["x"])
    moved = rows.batch(32).map(lambda x: x.transpose(1, 0, 2), ["x"])
    assert counted(moved) == 256


def test_batches_of_dictionaries(ds):
    rows = ds.GeneratorDataset(lambda: (({"a": np.ones(3), "b": i},) for i in range(64)), ["t"])
    assert counted(rows.batch(16)) == 64
