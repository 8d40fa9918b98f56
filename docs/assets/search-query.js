/* What a reader types into the search, as words that the theme's search reads: it takes `env:` for the name of a field
 * and `--dist` for a word that no result may hold, and does not divide 多GPU集群, which the index holds as three words.
 * It finds words by their beginning, so `datasets`, `congested` and `synchronize` lose their
 * ending and meet `dataset`, `congestion` and `synchronization`. */
"use strict";
(() => {
  const QUERY = 2; // the theme's type of a message that holds a query
  const postMessage = Worker.prototype.postMessage;

  Worker.prototype.postMessage = function (message, ...options) {
    if (message?.type === QUERY) {
      message = { ...message, data: separateWords(message.data) };
    }
    postMessage.call(this, message, ...options);
  };

  function separateWords(query) {
    return query
      .replace(/(?<=\p{sc=Han})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=\p{sc=Han})/gu, " ")
      .replace(/:\/\/|(?<=^|\s)--(?=\w)/g, " ")
      .replace(/(?<![\w.])([A-Za-z]{4,}[^\Wsui]s|[A-Za-z]{6,}ed|[A-Za-z]{4,}(?:at|iz)e)(?![\w.])/g, (word) =>
        word.replace(/s$|ed$|e$/, ""),
      );
  }
})();
