"""The Streamlit app: pages over the public face. Nothing below imports it; nothing in it computes a figure.

`scenario` holds what is chosen, its address in the URL and its results; `editor` draws the sidebar, `shell` what every
page has in common (controls, player, results), `pages` the pages, `texts` has both languages; `main` joins the pages.
"""
