// The slide view: the picture and what is said of it, alone on the screen and large. Escape leaves it.

/** Show `root` as a slide, or the page again; `arrange()` lays it out anew. */
export function showSlide(root, on, arrange) {
  if (root.classList.contains("slide") === on) return;
  root.classList.toggle("slide", on);
  if (on) {
    root.requestFullscreen?.().catch(() => {});
    document.addEventListener("fullscreenchange", function leave() {
      if (document.fullscreenElement) return;
      document.removeEventListener("fullscreenchange", leave);
      showSlide(root, false, arrange);
    });
  } else if (document.fullscreenElement) document.exitFullscreen?.().catch(() => {});
  arrange();
  root.focus({ preventScroll: true });
}
