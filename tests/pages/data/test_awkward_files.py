"""The Data screen with twelve awkward files: each shows its one question, with the control that answers."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import OpenApp, press, texts
from tests.pages.data.awkward import FILES, Act
from tests.pages.data.test_owners import with_table
from tests.pages.data_steps import work_of


def do(app: AppTest, act: Act) -> None:
    kind, label, words = act
    if kind == "press":
        press(app, label)
        return
    fields = [*app.selectbox, *app.multiselect] if kind == "choose" else app.text_input
    field = next(field for field in fields if label in field.label)
    if kind == "type":
        field.set_value(words).run()
    else:
        [option] = [option for option in field.options if words in option]
        field.select(option).run()
    assert not app.exception


def said_on(app: AppTest) -> str:
    folds = [fold.label for fold in app.expander]
    return "\n".join([texts(app), *folds, *(str(box.value) for box in app.selectbox)])


@pytest.mark.slow
@pytest.mark.parametrize("what", FILES)
def test_an_awkward_file_is_asked_about_and_answered(open_app: OpenApp, what: str) -> None:
    awkward = FILES[what]

    def name_the_unit() -> None:
        for field in app.text_input:
            if field.label == "Its unit" and not field.value:
                field.set_value(awkward.unit).run()

    app = with_table(open_app, awkward.name, awkward.data)
    name_the_unit()
    if awkward.refused or "converted" in awkward.said:
        press(app, "Read the data")
    assert awkward.said in said_on(app)
    for act in awkward.answer:
        do(app, act)
    name_the_unit()
    press(app, "Read the data")
    assert not app.error
    assert work_of(app).private.lines[0].endswith(f"{awkward.kept}.")
