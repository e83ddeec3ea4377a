"""A sensor table without reference data: the screen asks for what is usual before it offers a search."""

from __future__ import annotations

import pytest

from pages.shared.steps import PRIVACY
from tests.pages.conftest import press, texts
from tests.pages.data_steps import work_of
from tests.pages.privacy_steps import OpenApp, key_of, without_reference


@pytest.mark.usefixtures("jobs_at_once")
def test_what_is_usual_is_asked_for_in_the_datas_unit_before_a_search(open_app: OpenApp) -> None:
    app = without_reference(open_app)
    work_of(app).choose(centre=None, clip=None)
    app.switch_page("pages/data/page.py").run()
    app.switch_page(PRIVACY.path).run()
    for name in ("usual", "spread"):
        app.session_state[key_of(app, name)] = None
    app.run()
    assert "Say under What is usual: a usual value" in " ".join(str(each.value) for each in app.info)
    assert "Search for the best design" not in [button.label for button in app.button]
    app.number_input(key=key_of(app, "usual")).set_value(30.0).run()
    app.number_input(key=key_of(app, "spread")).set_value(-3.0).run()
    assert any("must be above 0" in str(error.value) for error in app.error)
    app.number_input(key=key_of(app, "spread")).set_value(12.0).run()
    assert not app.error
    assert (work_of(app).choices["centre"], work_of(app).choices["clip"]) == (30.0, 12.0)
    press(app, "Search for the best design")
    assert "Measured on simulated fields" in texts(app)
