"""The look: tokens, the style sheet of the parts that Streamlit draws, and the theme of the charts.

The tokens are those of the player (`collsim/display/palette.json`); those that Streamlit's own widgets need stand in
`.streamlit/config.toml` as well, and a test holds the two together. `light-dark()` follows the `color-scheme` that
Streamlit sets, so nothing here needs to know which theme is on.
"""

from __future__ import annotations

from typing import Any

from collsim.display.palette import FONT, TOKENS, build_css_variables

#: Components that are a page's picture: on a phone they stand before everything else of it.
_PICTURES = ",".join(
    f".st-key-{key}"
    for key in (
        "player",
        "race",
        "before_after",
        "step",
        "rivals",
        "pipelines",
        "sharding",
        "split",
        "routes",
        "lab",
        "lab_step",
        "write_play",
        "card_hang",
    )
)

STYLE = f"""<style>
.stApp{{{build_css_variables(prefix="--cs-")};font-variant-numeric:tabular-nums}}
[data-testid=stHeader]{{background:var(--cs-card);border-bottom:1px solid var(--cs-line);height:52px;min-height:52px}}
[data-testid=stAppDeployButton]{{display:none}}
[data-testid=stMainBlockContainer]{{padding:48px 24px 32px;max-width:1720px}}
[data-testid=stMainBlockContainer]>[data-testid=stVerticalBlock]{{gap:12px}}
[data-testid=stSidebarHeader]{{height:52px;padding-top:0;padding-bottom:0;margin-bottom:0;align-items:center}}
[data-testid=stSidebarUserContent]{{padding:4px 0 24px}}
[data-testid=stSidebarContent]{{padding:0 18px}}
[data-testid=stSidebarUserContent] [data-testid=stVerticalBlock]{{gap:9px}}
.cs-part{{font-size:16px;line-height:22px;font-weight:700;padding:0;margin:0;color:var(--cs-ink)}}
.cs-part.next{{border-top:1px solid var(--cs-line);margin-top:10px;padding-top:14px}}
.cs-legend{{display:flex;flex-wrap:wrap;gap:4px 26px;font-size:15px;line-height:22px;color:var(--cs-ink)}}
.cs-legend span{{display:inline-flex;align-items:center;gap:8px;white-space:nowrap}}
[class*=st-key-card_]{{background:var(--cs-card);border-color:var(--cs-line)!important;border-radius:10px}}
.cs-legend i{{display:inline-block;width:34px;height:0}}
[data-tag],[data-baseweb=tag]{{background:var(--cs-ink)!important}}
 :is([data-tag],[data-baseweb=tag]) *{{color:var(--cs-card)!important}}
[data-testid=stMultiSelect] :is([data-tag],[data-baseweb=tag],[data-tag] *){{max-width:100%!important}}
[data-testid=stSidebar] [data-testid=stMultiSelect]
 div:has(>[data-testid=stMultiSelectTagsContainer]){{max-height:none}}
[data-testid=stSidebar] [data-testid=stMultiSelect] [data-tag]{{height:auto;min-height:28px;padding-top:3px;
 padding-bottom:3px}}
[data-testid=stSidebar] [data-testid=stMultiSelect] [data-tag] span{{white-space:normal;font-size:13px;
 line-height:16px}}
[data-testid=stBaseButton-primary] *{{color:var(--cs-card)!important}}
[data-testid=stSelectbox] input{{text-overflow:ellipsis}}
.st-key-ask_row [data-testid=stCheckbox] label{{align-items:center}}
[data-testid=stCheckbox] label:has(input:checked)>div:first-of-type>div{{background:var(--cs-card)!important}}
[data-testid=stButtonGroup] button:is([data-selected],[data-testid$=Active]){{background:var(--cs-ink)!important}}
[data-testid=stButtonGroup] button:is([data-selected],[data-testid$=Active]) *{{color:var(--cs-card)!important;
 font-weight:700}}
[data-testid=stSidebar] [data-testid=stButtonGroup] button{{padding-left:6px;padding-right:6px;min-width:0}}
[data-testid=stElementContainer]:has(:disabled) [data-testid=stWidgetLabel] p{{color:var(--cs-ink2)!important}}
[data-testid=stTopNavLink] span{{font-size:15px}}
.st-key-switches [data-testid=stButtonGroup] button{{padding-left:10px;padding-right:10px;min-width:0}}
.st-key-export{{position:fixed;right:20px;bottom:20px;z-index:1000;width:min(440px,calc(100vw - 40px))!important;
 background:var(--cs-card);border:2px solid var(--cs-ink);border-radius:10px;padding:10px 14px}}
.st-key-switches{{position:fixed;top:9px;right:56px;z-index:999991;width:auto!important;flex-direction:row;gap:10px;
 align-items:center}}
.cs-head{{display:flex;flex-wrap:wrap;gap:8px 40px;align-items:flex-start;color:var(--cs-ink);padding:2px 4px 4px}}
small[title]{{cursor:help}}
.cs-fig small{{display:block;font-size:14px;line-height:18px;font-weight:700;color:var(--cs-ink2)}}
.cs-fig b{{display:block;font-size:34px;line-height:40px;font-weight:700;letter-spacing:-.7px;white-space:nowrap}}
.cs-fig b i{{font-style:normal;font-weight:400;font-size:19px;letter-spacing:0}}
.cs-fig span{{display:block;font-size:14px;line-height:18px;color:var(--cs-ink2);white-space:nowrap}}
.cs-why{{border-left:4px solid var(--cs-full);padding-left:16px;flex:1;min-width:380px}}
.cs-why small{{display:block;font-size:14px;line-height:18px;font-weight:700;color:var(--cs-fulltext)}}
.cs-why b{{display:block;font-size:20px;line-height:27px}}
.cs-why span{{display:block;font-size:15px;line-height:21px;color:var(--cs-ink2)}}
.cs-mistake{{border-left:4px solid var(--cs-ink);padding:6px 0 6px 12px;font-size:15px;line-height:21px}}
.cs-mistake{{color:var(--cs-ink);overflow-wrap:anywhere}}
[data-testid=stSidebar] .cs-mistake{{font-size:14px;line-height:19px;padding:2px 0 2px 10px;margin-top:-4px}}
.cs-note{{font-size:15px;line-height:21px;color:var(--cs-ink2)}}
.st-key-whatif_cards button{{height:auto;min-height:58px}}
.st-key-whatif_cards button p{{white-space:normal;font-size:15px;line-height:20px}}
.cs-title{{font-size:24px;line-height:32px;font-weight:700;color:var(--cs-ink);margin:0;padding:0}}
@media(max-width:1400px){{
 .st-key-whatif_tables [data-testid=stHorizontalBlock]{{flex-direction:column}}
 .st-key-whatif_tables [data-testid=stColumn]{{width:100%;flex:none}}
 .st-key-card_broken [data-testid=stButtonGroup] button{{padding-left:9px;padding-right:9px}}
 [data-testid=stSidebar]:is([data-collapsed=false],[aria-expanded=true]){{width:240px!important;
 min-width:240px!important}}
 [data-testid=stSidebar] .st-key-w_lab_split [data-testid=stButtonGroup] button{{padding-left:2px;padding-right:2px}}
 [data-testid=stMainBlockContainer]{{padding:46px 14px 24px}}
 [data-testid=stTopNavLink]{{padding-left:7px;padding-right:7px}}
 [data-testid=stTopNavLink] span{{font-size:14px}}
 [data-testid=stTopNavLinkContainer]{{margin-left:0;margin-right:0}}
 .cs-head{{gap:6px 22px}} .cs-fig b{{font-size:26px;line-height:31px}} .cs-fig b i{{font-size:16px}}
 .cs-fig span{{white-space:normal;max-width:116px;font-size:13px;line-height:16px}}
 .cs-why{{min-width:320px;padding-left:12px}} .cs-why b{{font-size:17px;line-height:22px}}
 .cs-why span{{font-size:14px;line-height:18px}}
}}
@media(max-width:1000px){{
 .st-key-switches{{position:static;margin-top:12px;order:-2}}
 .st-key-pipelinecontrols [data-testid=stHorizontalBlock]{{flex-wrap:wrap}}
 .st-key-pipelinecontrols [data-testid=stColumn]{{min-width:130px}}
}}
@media(max-width:760px){{
 .st-key-switches{{gap:6px}}
 .st-key-switches [data-testid=stButtonGroup] button{{padding-left:6px;padding-right:6px}}
 .cs-why{{min-width:0;flex-basis:100%}}
 .cs-fig span{{white-space:normal}}
}}
@media(max-width:600px){{
 [data-testid=stMainBlockContainer] :is({_PICTURES}){{order:-1}}
 [data-testid=stMainBlockContainer] [data-testid=stColumn]:has({_PICTURES}){{order:-1}}
 [data-testid=stMainBlockContainer]>[data-testid=stVerticalBlock]>:has({_PICTURES}){{order:-1}}
 [data-testid=stMainBlockContainer]>[data-testid=stVerticalBlock]>:has(.st-key-switches){{order:-2}}
}}
@media print{{[data-testid=stSidebar],[data-testid=stHeader],.st-key-switches{{display:none}}}}
</style>"""


def build_menu_style(name: str) -> str:
    """The style that gives the button of the folded menu a word, as an arrow alone says nothing on a phone.

    Args:
        name: The word, without quotation marks.
    """
    button = "[data-testid=stExpandSidebarButton]"
    return (
        f"<style>{button}{{width:auto;padding:0 10px;border:1px solid var(--cs-edge);border-radius:7px;gap:6px}}"
        f"{button}::after{{content:'{name}';font-size:15px;font-weight:700;color:var(--cs-ink)}}</style>"
    )


def color(token: str, dark: bool) -> str:
    """A token's hex value in one theme.

    Args:
        token: Name of the color.
        dark: For a dark page.
    """
    return TOKENS[token][dark]


def build_chart_look(dark: bool) -> dict[str, Any]:
    """Configuration of an Altair chart: system fonts, ink text, light grid.

    Args:
        dark: For a dark page.
    """
    ink, grid, line = color("ink2", dark), color("grid", dark), color("line", dark)
    words = {
        "labelFontSize": 14,
        "titleFontSize": 15,
        "labelColor": ink,
        "titleColor": ink,
        "titleFontWeight": "normal",
    }
    return {
        "font": FONT,
        "background": color("card", dark),
        "axis": {**words, "gridColor": grid, "domainColor": line, "tickColor": line, "titlePadding": 10},
        "view": {"stroke": None},
    }


def _draw_ring(dark: bool) -> str:
    """Chunks on a ring, in a square of 32."""
    ink, card = color("ink", dark), color("card", dark)
    dots = "".join(
        f'<circle cx="{x}" cy="22" r="3.6" fill="{color(token, dark)}" stroke="{card}" stroke-width="1.4"/>'
        for x, token in ((6, "done"), (26, "full"))
    )
    return (
        f'<circle cx="16" cy="16" r="11.5" fill="none" stroke="{ink}" stroke-opacity=".55" stroke-width="2.4"/>'
        f'<rect x="12" y="0.9" width="8" height="8" rx="1.6" fill="{card}" stroke="{ink}" stroke-width="1.6"/>{dots}'
    )


def mark() -> str:
    """The icon of the browser's tab."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32">{_draw_ring(False)}</svg>'
    )


def draw_logo(dark: bool) -> str:
    """The name with its mark.

    Args:
        dark: For a dark page.
    """
    letters = 'font-family="Segoe UI,Helvetica Neue,Arial,sans-serif" font-size="20" font-weight="700"'
    name = f'<text x="38" y="22.5" {letters} fill="{color("ink", dark)}">collsim</text>'
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="32" viewBox="0 0 120 32">'
    return f"{head}{_draw_ring(dark)}{name}</svg>"
