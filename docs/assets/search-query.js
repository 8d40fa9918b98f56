/* What a reader types into the search, as words that the theme's search reads: it takes `env:` for the name of a field
 * and `--dist` for a word that no result may hold, and does not divide 多GPU集群, which the index holds as three words.
 * It finds words by their beginning, so `datasets`, `congested` and `synchronize` lose their
 * ending and meet `dataset`, `congestion` and `synchronization`.
 * Where a query finds nothing, one for words that are spelled alike follows: `allreduse` meets `allreduce`. */
"use strict";
(() => {
  const QUERY = 2; // the theme's types of messages that hold a query and its results
  const RESULT = 3;
  const postMessage = Worker.prototype.postMessage;
  const queries = new WeakMap(); // the last query of each worker; "" after the one for similar words

  Worker.prototype.postMessage = function (message, ...options) {
    if (message?.type === QUERY) {
      if (!queries.has(this)) {
        this.addEventListener("message", askForSimilarWords);
      }
      message = { ...message, data: separateWords(message.data) };
      queries.set(this, message.data);
    }
    postMessage.call(this, message, ...options);
  };

  function askForSimilarWords({ data: { type, data } }) {
    const similar = type === RESULT && data.items.length === 0 ? findSimilarWords(queries.get(this)) : "";
    queries.set(this, "");
    if (similar) {
      postMessage.call(this, { type: QUERY, data: similar });
    }
  }

  function findSimilarWords(query) {
    if (/(?:^|\s)-\w/.test(query)) {
      return ""; // the reader leaves a word out, and means it
    }
    const words = (query.match(/[A-Za-z]{4,}/g) ?? []).map((word) => `${word}~${word.length > 5 ? 2 : 1}`);
    return [...words, ...(query.match(/\p{sc=Han}/gu) ?? []).map((letter) => `${letter}*`)].join(" ");
  }

  function separateWords(query) {
    return query
      .replace(/(?<=\p{sc=Han})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=\p{sc=Han})/gu, " ")
      .replace(/:\/\/|(?<=^|\s)--(?=\w)/g, " ")
      .replace(/(?<![\w.])([A-Za-z]{4,}[^\Wsui]s|[A-Za-z]{6,}ed|[A-Za-z]{4,}(?:at|iz)e)(?![\w.])/g, (word) =>
        word.replace(/s$|ed$|e$/, ""),
      );
  }
})();
