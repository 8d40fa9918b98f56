"""Every text on a page that is open, also in shadow roots, in SVG and on canvases: where it stands, how strongly it
differs from what is behind it, and which texts overlap."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image

#: Remembers of each canvas what was written on it since it was cleared, and the most frequent color behind each text.
WATCH = """
{
  const proto = CanvasRenderingContext2D.prototype, written = (window.writtenOn = new Map()), MOST = 300;
  const { fillText, clearRect, getImageData } = proto;
  const ground = (pen, a, b) => {
    const { data } = getImageData.call(pen, a.x, a.y, Math.max(1, b.x - a.x), Math.max(1, b.y - a.y)), counts = new Map();
    for (let k = 0; k < data.length; k += 4) {
      const color = data.slice(k, k + 4).join();
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
    return [...counts].reduce((x, y) => (y[1] > x[1] ? y : x))[0].split(",").map(Number);
  };
  proto.clearRect = function (x, y, w, h) {
    const t = this.getTransform();
    if (w * t.a >= this.canvas.width * 0.9 && h * t.d >= this.canvas.height * 0.9) written.set(this.canvas, []);
    return clearRect.call(this, x, y, w, h);
  };
  proto.fillText = function (text, x, y, ...rest) {
    const t = this.getTransform(), m = this.measureText(text), size = parseFloat(/([\\d.]+)px/.exec(this.font)[1]);
    const list = written.get(this.canvas);
    if (list && list.length < MOST && this.canvas.isConnected && !t.b && !t.c) {
      const a = t.transformPoint(new DOMPoint(x - m.actualBoundingBoxLeft, y - m.actualBoundingBoxAscent));
      const b = t.transformPoint(new DOMPoint(x + m.actualBoundingBoxRight, y + m.actualBoundingBoxDescent));
      list.push({ text: String(text), a, b, size: size * t.d, bold: /\\b(bold|[6-9]00)\\b/.test(this.font),
        color: this.fillStyle, alpha: this.globalAlpha, ground: ground(this, a, b) });
    }
    return fillText.call(this, text, x, y, ...rest);
  };
}
"""

COLLECT = """() => {
  const out = [], pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pen.globalAlpha = 1; pen.fillStyle = color;
    CanvasRenderingContext2D.prototype.reset.call(pen); pen.fillStyle = color; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const hit = (x, y) => {
    let top = document.elementFromPoint(x, y);
    while (top?.shadowRoot) { const inner = top.shadowRoot.elementFromPoint(x, y); if (!inner || inner === top) break; top = inner; }
    return top;
  };
  const parent = (e) => e.parentElement ?? (e.getRootNode() instanceof ShadowRoot ? e.getRootNode().host : null);
  const within = (e, whole) => { for (let p = e; p; p = parent(p)) if (p === whole) return true; return false; };
  const name = (e) => { const names = []; for (let p = e; p && names.length < 4; p = parent(p)) names.unshift(p.tagName.toLowerCase() + (p.getAttribute("class") ? "." + p.getAttribute("class").split(/\\s+/)[0] : "")); return names.join(" > "); };
  const seen = (e) => { let opacity = 1; for (let p = e; p; p = parent(p)) { const s = getComputedStyle(p); if (s.visibility === "hidden" || s.display === "none") return 0; if (s.overflowX !== "visible" && p.getBoundingClientRect().width < 3) return 0; opacity *= Number(s.opacity); if (p.disabled || p.getAttribute?.("aria-disabled") === "true") return 0; } return opacity; };
  const outer = (e) => { let svg = e.ownerSVGElement ?? null; while (svg?.ownerSVGElement) svg = svg.ownerSVGElement; return svg; };
  const add = (e, text, box, color, size, bold, alpha, kind, ground = null) => {
    const { left: x0, top: y0, right: x1, bottom: y1 } = box;
    if (x1 - x0 < 3 || y1 - y0 < 5 || x0 < 0 || y0 < 0 || x1 > innerWidth || y1 > innerHeight) return;
    const top = hit((x0 + x1) / 2, (y0 + y1) / 2), svg = outer(e);
    if (kind === "html" && !(top && (within(top, e) || within(e, top)))) return;
    for (let nested = e.ownerSVGElement; nested && nested !== svg; nested = nested.ownerSVGElement) {
      const begin = svg.getBoundingClientRect().left + nested.x.baseVal.value, middle = (x0 + x1) / 2;
      if (middle < begin || middle > begin + nested.width.baseVal.value) return;
    }
    if (kind !== "html" && !(top && (within(top, svg ?? e) || within(svg ?? e, top) || outer(top) === svg))) return;
    const color4 = rgba(color);
    if (color4[3] * alpha < 0.05) return; // meant for screen readers
    out.push({ text: text.trim().slice(0, 60), box: [x0, y0, x1, y1], color: [...color4.slice(0, 3), color4[3] * alpha], size, bold, kind, ground, where: name(e) });
  };
  const walk = (root) => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let n = nodes.nextNode(); n; n = nodes.nextNode()) {
      if (n.nodeType === 1) {
        if (n.shadowRoot) walk(n.shadowRoot);
        if (n.tagName === "CANVAS" && window.writtenOn?.get(n) && !/dvn/.test(n.parentElement?.className)) {
          const frame = n.getBoundingClientRect(), k = frame.width / n.width, opacity = frame.width ? seen(n) : 0;
          for (const text of opacity ? window.writtenOn.get(n) : [])
            add(n, text.text, { left: frame.left + text.a.x * k, right: frame.left + text.b.x * k, top: frame.top + text.a.y * k, bottom: frame.top + text.b.y * k }, text.color, text.size * k, text.bold, text.alpha * opacity, "canvas", text.ground);
        }
        continue;
      }
      const e = n.parentElement;
      if (!n.textContent.trim() || !e?.checkVisibility() || /^(STYLE|SCRIPT|TITLE|DESC|OPTION)$/i.test(e.tagName)) continue;
      const opacity = seen(e);
      if (opacity < 0.05) continue;
      const style = getComputedStyle(e), svg = e instanceof SVGElement, range = document.createRange();
      range.selectNodeContents(n);
      for (const box of range.getClientRects())
        add(e, n.textContent, box, svg ? style.fill : style.webkitTextFillColor || style.color, parseFloat(style.fontSize), Number(style.fontWeight) >= 600, opacity * (svg ? Number(style.fillOpacity) : 1), svg ? "svg" : "html");
    }
  };
  walk(document);
  return out;
}"""


@dataclass(frozen=True)
class Written:
    """A text on the screen.

    Attributes:
        text: Its beginning.
        where: The element that it stands in, with three around it.
        kind: html, svg or canvas.
        box: Left, top, right, bottom in px.
        size: Of its letters, px.
        contrast: The ratio of its luminance and that of the colour around it, at least 1.
        needed: The ratio that WCAG 2 (AA) asks for.
    """

    text: str
    where: str
    kind: str
    box: tuple
    size: float
    contrast: float
    needed: float


def read_texts(tab):
    """Every text that is in the window, with its contrast to the most frequent colour of its box."""
    found = tab.evaluate(COLLECT)
    pixels = np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"))
    # Of the same text twice in one place the upper one is seen.
    return [
        _measure(one, pixels)
        for one in {(one["text"], *(round(x / 2) for x in one["box"])): one for one in found}.values()
    ]


def _measure(one, pixels):
    left, top, right, bottom = one["box"]
    part = pixels[int(top) : int(bottom) + 1, int(left) : int(right) + 1].reshape(-1, 3)
    colours, counts = np.unique(part, axis=0, return_counts=True)
    *colour, alpha = one["color"]
    ground = colours[counts.argmax()].astype(float)
    if one["ground"] and one["ground"][3] == 255:
        ground = np.array(one["ground"][:3], float)
    shown = alpha * np.array(colour) + (1 - alpha) * ground
    light, dark = sorted((_luminance(shown), _luminance(ground)), reverse=True)
    large = one["size"] >= 24 or (one["bold"] and one["size"] >= 18.66)
    return Written(
        one["text"],
        one["where"],
        one["kind"],
        tuple(one["box"]),
        one["size"],
        (light + 0.05) / (dark + 0.05),
        3.0 if large else 4.5,
    )


def _luminance(colour):
    part = colour / 255
    return float(np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def find_overlaps(texts):
    """Pairs of texts of pictures that lie on each other, by three pixels and two fifths of a line, the lower one first."""
    drawn = [one for one in texts if one.kind != "html"]
    return [(a, b) for k, a in enumerate(drawn) for b in drawn[k + 1 :] if a.text != b.text and _overlap(a.box, b.box)]


def _overlap(a, b):
    wide, high = (min(a[k + 2], b[k + 2]) - max(a[k], b[k]) for k in (0, 1))
    return wide > 3 and high > 0.4 * min(a[3] - a[1], b[3] - b[1])
