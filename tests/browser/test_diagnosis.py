"""The page Slow job in a browser: layers, findings and their keys, and evidence that would run a script."""

HOSTILE = "h:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n<img src=x onerror='window.ran=1'>\n"


def open_case(tab, app_url, case="p2p_disabled"):
    tab.goto(f"{app_url}/diagnosis?case={case}&lang=en")
    tab.locator("svg.jp").first.wait_for(timeout=120_000)
    tab.locator(".board[data-finding]").wait_for(timeout=60_000)


def test_keys_choose_layers_and_findings_but_not_while_somebody_writes(tab, app_url):
    open_case(tab, app_url)
    picture, board = tab.locator("svg.jp").first, tab.locator(".board")
    for key, layer in (("u", "used"), ("c", "could"), ("b", "both")):
        tab.keyboard.press(key)
        assert picture.get_attribute("data-layer") == layer
    tab.keyboard.press("1")
    assert board.get_attribute("data-finding") == "1"
    assert "dx-finding" in tab.evaluate("document.activeElement.className")
    assert tab.locator(".lit.dim").count() > 5
    assert tab.locator(".plate.used.dim").count() == 0
    tab.keyboard.press("Escape")
    assert tab.locator(".dim").count() == 0
    tab.keyboard.press("v")
    tab.keyboard.type("u1")
    assert picture.get_attribute("data-layer") == "both"
    assert board.get_attribute("data-finding") == "0"


def test_a_chip_lights_its_finding_and_a_click_keeps_it(tab, app_url):
    open_case(tab, app_url, "nvlink_lost")
    board = tab.locator(".board")
    tab.locator(".dx-chip[data-findings]").first.hover()
    tab.wait_for_function("document.querySelector('.dx-chip.dim') === null")
    assert board.get_attribute("data-finding") == "1"
    tab.locator("h1").first.hover()
    tab.wait_for_timeout(100)
    assert board.get_attribute("data-finding") == "0"
    tab.locator(".dx-finding h3").first.click()
    assert board.get_attribute("data-finding") == "1"


def test_nothing_of_an_uploaded_file_runs(tab, app_url, tmp_path):
    path = tmp_path / "<img src=x onerror='window.ran=2'>.log".replace("/", "")
    path.write_text(HOSTILE)
    tab.goto(f"{app_url}/diagnosis?lang=en")
    tab.locator(".st-key-w_d_open button").first.click(timeout=120_000)
    tab.locator("input[type=file]").set_input_files(path)
    tab.locator(".dx-finding").first.wait_for(timeout=120_000)
    assert "onerror" in tab.locator(".dx-piece").first.inner_text()
    assert tab.evaluate("window.ran") is None
