"""Reports, as a visitor meets them."""

import pytest

from tests.explore.report_tables.sample_reports import HOSTILE, write_reports
from tests.ui.tiny_page import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    run = tmp_path_factory.mktemp("reports") / "run"
    with serving(run) as page:
        write_reports(run, "retrieval", "training", "health")  # while it is being served
        yield page


def opened(page):
    page.get_by_role("tab", name="Reports").click()
    return drawn(page)


def drawn(page):
    page.locator("#reports-health .report").wait_for()
    page.locator("#reports-training-plot-2 .main-svg").first.wait_for()
    return page


def test_every_plot_is_drawn_and_has_its_table(visit):
    page = opened(visit())
    for plot in ("hits-plot-0", "times-plot-0", "training-plot-0", "training-plot-1", "training-plot-2"):
        page.locator(f"#reports-{plot} .main-svg").first.wait_for()
    for name, cell in (("hits", "50.0 [45.0, 55.0]"), ("times", "45.60"), ("training", "0.6600")):
        page.locator(f"#reports-{name}-body button.label-wrap").click()
        page.locator(f"#reports-{name}-table td", has_text=cell).first.wait_for()
    page.locator("#reports-hits-table td", has_text=HOSTILE).first.wait_for()
    assert page.locator("#reports-health-table tbody tr").count() == 2


def test_what_is_missing_names_its_command(visit, served):
    page = opened(visit())
    assert "python -m genius.evaluation.speed" in page.locator("#reports-speed pre").inner_text()
    assert not page.locator("#reports-speed-body").is_visible()


def test_plots_are_drawn_anew_for_another_theme_and_for_no_other_class_of_the_body(visit):
    page = opened(visit())
    page.evaluate("""() => {
      const {react} = Plotly;
      window.draws = 0;
      Plotly.react = (...given) => { window.draws += 1; return react(...given); };
      document.body.classList.add('touring');
    }""")
    page.wait_for_timeout(1000)
    assert not page.evaluate("draws")
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_function("draws > 1")


@pytest.mark.slow
def test_another_pool_is_a_click_away_and_stays_chosen(visit):
    page = opened(visit())
    page.locator("#reports-hits-choice").get_by_label("Local pool, test items").check()
    page.locator("#reports-hits-body button.label-wrap").click()
    page.locator("#reports-hits-table td", has_text="60.0 [55.0, 65.0]").first.wait_for()
    page.get_by_role("tab", name="API").click()
    page.get_by_role("tab", name="Reports").click()
    page.wait_for_timeout(1000)
    assert page.locator("#reports-hits-choice").get_by_label("Local pool, test items").is_checked()
    assert page.locator("#reports-hits-table td", has_text="60.0 [55.0, 65.0]").first.is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.slow
def test_a_phone_needs_no_sideways_scrolling(visit, theme):
    page = visit(f"/?tab=reports&__theme={theme}", width=390)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_a_touch_screen_no_buttons_lie_over_a_legend(browser, served):
    with browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True) as phone:
        page = phone.new_page()
        page.goto(served.url + "/?tab=reports")
        drawn(page)
        plots = page.locator(".js-plotly-plot", has=page.locator(".legendtext"))
        covered = """plot => {
          const buttons = plot.querySelector('.modebar')?.getBoundingClientRect();
          const inside = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
          return Boolean(buttons) && [...plot.querySelectorAll('.legendtext')].some(
            text => inside(text.getBoundingClientRect(), buttons));
        }"""
        assert plots.count() >= 3 and not any(plot.evaluate(covered) for plot in plots.all())
