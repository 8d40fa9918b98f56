"""The Streamlit app: pages over the public face. Nothing below imports it; nothing in it computes a figure.

`choice` is what was asked for (and its address in the URL), `run` does it, `elsewhere` says it as code, `texts` speaks
both languages, `controls` draws the sidebar, `player` mounts the animation, `explore` and `compare` are the pages,
`main` joins them.
"""
