"""Packing: lists and arrays, answers, refusals, and what is wrong."""

import array

import numpy as np
import pytest

import plimsoll

SIZES, STARTS, ENDS = [4096, 8192, 4096], [0, 1, 2], [2, 3, 4]


def test_lists_give_lists():
    packing = plimsoll.pack(SIZES, STARTS, ENDS)
    assert (packing.arena_bytes, packing.lower_bound_bytes, packing.status) == (12288, 12288, "optimal")
    assert packing.unshared_bytes == 16384
    assert isinstance(packing.offsets, list)
    assert plimsoll.check(SIZES, STARTS, ENDS, packing.offsets) == []
    assert packing.check() is None
    assert repr(packing) == "<Packing: 3 buffers in 12288 bytes, bound 12288, optimal>"


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_arrays_of_every_integer_give_arrays(dtype):
    columns = [np.array(column, dtype) for column in ([100, 60, 40], [0, 1, 2], [2, 3, 4])]
    offsets = plimsoll.pack(*columns).offsets
    assert offsets.dtype == np.uint64
    assert offsets.tolist() == plimsoll.pack(*(column.tolist() for column in columns)).offsets


def test_strided_arrays_and_other_buffers_are_read():
    table = np.array([SIZES, STARTS, ENDS]).T
    assert plimsoll.pack(table[:, 0], table[:, 1], table[:, 2]).arena_bytes == 12288
    assert plimsoll.pack(*(array.array("q", c) for c in (SIZES, STARTS, ENDS))).arena_bytes == 12288
    assert plimsoll.pack(range(1, 4), range(3), range(2, 5)).arena_bytes == 5


def test_a_million_rows_as_arrays():
    starts = np.arange(1_000_000)
    sizes = (starts * 7919 % 1000 + 1) * 64
    packing = plimsoll.pack(sizes, starts, starts + 2, align=64, effort="fast")
    both = (sizes[:-1] + sizes[1:]).max()
    assert packing.lower_bound_bytes == both <= packing.arena_bytes <= 1.01 * both
    assert len(packing.offsets) == 1_000_000
    packing.check()


def test_alignment_holds():
    packing = plimsoll.pack([100, 100], [0, 0], [1, 1], align=64)
    assert sorted(packing.offsets) == [0, 128]


def test_what_does_not_fit_is_an_exception_of_its_own():
    with pytest.raises(plimsoll.DoesNotFit, match="at least 12288 bytes are needed"):
        plimsoll.pack(SIZES, STARTS, ENDS, capacity=12287)
    assert plimsoll.pack(SIZES, STARTS, ENDS, capacity=12288).arena_bytes == 12288


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([1], [0], [1, 2]), {}, "1 sizes, 1 starts and 2 ends: not the same"),
        (([1, -2], [0, 0], [1, 1]), {}, "sizes: row 1: -2"),
        (([1, "x"], [0, 0], [1, 1]), {}, "sizes: row 1: x is no integer below 2^63"),
        ((np.array([0.5]), [0], [1]), {}, 'sizes: elements have to be integers below 2^63, not "d"'),
        ((np.array([2**63], "u8"), [0], [1]), {}, "sizes: elements have to be integers"),
        ((np.ones((2, 2), "i8"), [0], [1]), {}, "sizes: has to have one dimension"),
        (([1], [1], [1]), {}, "buffer 0"),
        (([1], [0], [1]), {"align": 0}, "buffer 0"),
        (([1], [0], [1]), {"effort": "great"}, "invalid value 'great' for '--effort"),
        (([1], [0], [1]), {"algorithm": "list"}, "a list is no packing"),
    ],
)
def test_bad_input_is_an_error_that_names_the_place(arguments, options, words):
    with pytest.raises(plimsoll.Error) as error:
        plimsoll.pack(*arguments, **options)
    assert words in str(error.value)
    assert isinstance(error.value, ValueError)


def test_anybodys_packing_is_checked():
    found = plimsoll.check([64, 64], [0, 1], [2, 3], [0, 32], align=64, capacity=80)
    assert "buffer 0 and buffer 1 both use bytes [32, 64) at [1, 2)" in found
    assert len(found) == 3, found
    with pytest.raises(plimsoll.Error, match="2 buffers have 1 offsets"):
        plimsoll.check([64, 64], [0, 1], [2, 3], [0])


@pytest.mark.parametrize("name", ["packing.csv", "packing.json", "packing.svg", "packing.html", "packing.txt"])
def test_a_packing_is_saved_in_every_form(tmp_path, name):
    plimsoll.pack(SIZES, STARTS, ENDS).save(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 50


def test_the_saved_table_is_the_problem_with_its_offsets(tmp_path):
    packing = plimsoll.pack(SIZES, STARTS, ENDS)
    packing.save(tmp_path / "packing.csv")
    header, *rows = (tmp_path / "packing.csv").read_text().splitlines()
    offset = header.split(",").index("offset")
    assert [int(row.split(",")[offset]) for row in rows] == packing.offsets
