// English words of transport.

export default {
  speed: "Speed",
  play: "Play (Space)",
  pause: "Pause (Space)",
  first: "Start (Home)",
  back: "Back (←)",
  next: "Forward (→)",
  link: "Copy a link to this moment",
  copied: "Link copied",
  full: "Full screen (F)",
  time: "Time",
};
