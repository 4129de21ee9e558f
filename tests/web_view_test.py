"""The page of the web view in a real browser, before answers that are made for it."""

from __future__ import annotations

from web_support import needs_browser, scenarios


@needs_browser
def test_the_page_shows_made_answers_of_every_size_and_kind() -> None:  # B13
    results = scenarios("made_scenarios.ts")
    assert len(results) >= 12
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
