// English words of program.

import transport from "./transport_words.js";

export default {
  ...transport,
  rank: "Rank",
  sent: "sent",
  received: "received",
  waited: "waited",
  label: "Lanes of the ranks: space plays, arrow keys go from event to event",
};
