// English words of the menu of files.

export default {
  title: "Copy as: picture, film, page, slide",
  copyAs: "Copy as",
  making: "The file is being made.",
  saved: (name) => `${name} is saved`,
  frameCopied: (name) => `<iframe> copied; put ${name} next to the article`,
  kinds: {
    svg: ["SVG", "the picture at this step, to scale"],
    png: ["PNG", "the picture at this step, with its charts"],
    gif: ["GIF", "the whole run as a film, for slides"],
    mp4: ["MP4", "the whole run as a film"],
    nofilm: ["MP4", "needs ffmpeg, which is not installed where the app runs"],
    html: ["HTML", "one offline page, which opens at this step"],
    frame: ["<iframe>", "a frame for an article, at this step of that page"],
    slide: ["Slide view (S)", "the picture and its sentence; Esc leaves it"],
  },
};
