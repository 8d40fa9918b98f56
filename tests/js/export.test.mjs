// The picture as SVG: rounded corners as a canvas draws them, and text that is no markup.
import assert from "node:assert/strict";
import test from "node:test";
import { cornerArc, escapeMarkup } from "../../collsim/viz/player/export/svgcontext.js";

const near = (got, expected) => got.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-9, `${got}`));

test("a right angle is rounded a radius before and after the corner, in the sense of the turn", () => {
  const right = cornerArc([0, 0], [10, 0], [10, 10], 4);
  near(right.from, [6, 0]);
  near(right.to, [10, 4]);
  assert.equal(right.sweep, 1);
  const left = cornerArc([0, 0], [10, 0], [10, -10], 4);
  near(left.to, [10, -4]);
  assert.equal(left.sweep, 0);
});

test("a sharper corner begins further away", () => {
  const { from } = cornerArc([0, 0], [10, 0], [0, 10], 2);
  assert.ok(10 - from[0] > 2);
});

test("on a line, and without a radius, there is no corner", () => {
  assert.equal(cornerArc([0, 0], [5, 0], [10, 0], 3), null);
  assert.equal(cornerArc([0, 0], [5, 0], [5, 5], 0), null);
  assert.equal(cornerArc([5, 0], [5, 0], [5, 5], 3), null);
});

test("names of devices are no markup", () => {
  assert.equal(escapeMarkup('<b> & "x"'), "&lt;b&gt; &amp; &quot;x&quot;");
});
