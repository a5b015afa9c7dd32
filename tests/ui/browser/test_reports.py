"""Reports, as a visitor meets them."""

import pytest

from tests.ui.browser.actions import fits, open_tab
from tests.ui.sample_reports import HOSTILE, write_reports

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tiny_page):
    write_reports(tiny_page.run)  # while it is being served
    return tiny_page


def opened(page):
    open_tab(page, "Reports")
    return drawn(page)


def drawn(page):
    page.locator("#reports-retrieval .main-svg").first.wait_for()
    return page


def test_every_plot_is_drawn_when_it_is_seen_and_for_another_theme_and_has_its_table(visit):
    page = opened(visit())
    for plot in page.locator("#reports-training .plot").all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for()
    assert page.locator("#reports-training .plot").count() == 6
    page.locator("#reports-retrieval summary", has_text="2 tables").click()
    page.locator("#reports-retrieval .fold .fold summary").first.click()
    page.locator("#reports-retrieval td", has_text=HOSTILE).first.wait_for()
    assert page.locator("#reports-retrieval td.best", has_text="50.0 [45.0, 55.0]").count() == 1
    # without a plot its table is open
    assert page.locator("#reports-zebras td", has_text=HOSTILE).count() == 1
    # which is missing
    assert "python -m genius.evaluation.speed" in page.locator("#reports-speed pre").inner_text()
    assert page.locator(".overview button").count() == page.locator(".report").count()

    page.evaluate("""() => {
      const {react} = Plotly;
      window.draws = 0;
      Plotly.react = (...given) => { window.draws += 1; return react(...given); };
      document.body.classList.add('touring');
    }""")
    page.wait_for_timeout(1000)
    assert not page.evaluate("draws"), "plots are drawn anew for no other class of the body"
    page.locator("#header summary[aria-label=More]").click()
    page.get_by_role("button", name="Theme:").click()
    page.wait_for_function("draws > 1")


@pytest.mark.slow
def test_another_plot_is_a_choice_away_and_stays_chosen(visit):
    page = opened(visit())
    page.get_by_label("Plot", exact=True).select_option("Milliseconds")
    page.locator("#reports-retrieval .barlayer").first.wait_for(state="attached")
    open_tab(page, "API")
    open_tab(page, "Reports")
    page.wait_for_timeout(1000)
    assert page.get_by_label("Plot", exact=True).input_value() == "Milliseconds"
    assert (
        page.locator("#reports-retrieval [role=figure]").get_attribute("aria-label")
        == "Milliseconds"
    )


def test_on_a_phone_nothing_scrolls_sideways_and_no_buttons_lie_over_a_legend(phone, served):
    phone.goto(served.url + "/?tab=reports")
    drawn(phone)
    assert fits(phone)
    plots = phone.locator(".js-plotly-plot", has=phone.locator(".legendtext"))
    covered = """plot => {
      const buttons = plot.querySelector('.modebar')?.getBoundingClientRect();
      const inside = (a, b) =>
          a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      return Boolean(buttons) && [...plot.querySelectorAll('.legendtext')].some(
        text => inside(text.getBoundingClientRect(), buttons));
    }"""
    assert plots.count() and not any(plot.evaluate(covered) for plot in plots.all())
