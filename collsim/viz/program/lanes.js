// The pictures of a rank program: one for a wide and one for a narrow screen, drawn by Python as SVG.
// They are parsed as images: a script in one would not run.
const SHAPES = ["wide", "narrow"];

export default function ({ data, parentElement }) {
  for (const shape of SHAPES) {
    const picture = new DOMParser().parseFromString(data[shape], "image/svg+xml").documentElement;
    parentElement.querySelector(`.${shape}`).replaceChildren(document.importNode(picture, true));
  }
}
