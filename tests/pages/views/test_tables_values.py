"""Places on the Data screen are coloured by the classes of their values."""

from __future__ import annotations

from pages.data.tables import value_classes


def test_places_have_five_classes_with_as_many_values_each() -> None:
    classes, limits = value_classes([float(value) for value in range(1, 11)])
    assert limits == [2.0, 4.0, 6.0, 8.0]
    assert classes == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert value_classes([3.0, 3.0]) == ([], [])
    assert value_classes([]) == ([], [])
    tied = value_classes([1.0, 1.0, 1.0, 1.0, 9.0])
    assert tied[0] == [0, 0, 0, 0, 4]
