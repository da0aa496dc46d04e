// The search of a site that is opened from a folder, where a page may neither fetch a file nor start a worker: index.js has the index as a script.
(function () {
  const field = document.getElementById("mkdocs-search-query"), place = document.getElementById("mkdocs-search-results");
  if (!field || !place) return;
  const load = (name, then) => {
    const script = document.createElement("script");
    script.src = "search/" + name;
    script.onload = then;
    document.head.appendChild(script);
  };
  load("lunr.js", () => load("index.js", () => {
    const docs = siteIndex.docs;
    const index = lunr(function () {
      this.ref("at");
      this.field("title", {boost: 10});
      this.field("text");
      docs.forEach((doc, at) => this.add({at, title: doc.title, text: doc.text}));
    });
    const show = () => {
      // every word must be there, whole or as a beginning
      const words = field.value.trim().split(/\s+/).map((word) => word.replace(/[~^:*+-]/g, " ").trim()).filter(Boolean);
      const found = words.length ? index.query((query) => words.forEach((word) => lunr.tokenizer(word).forEach((token) => {
        query.term(token.toString(), {presence: lunr.Query.presence.REQUIRED, wildcard: lunr.Query.wildcard.TRAILING});
      }))) : [];
      place.textContent = found.length ? "" : place.dataset.noResultsText;
      found.slice(0, 50).forEach(({ref}) => {
        const doc = docs[ref], article = document.createElement("article"), heading = document.createElement("h3"), link = document.createElement("a"), text = document.createElement("p");
        link.href = doc.location;
        link.textContent = doc.title;
        text.textContent = doc.text.slice(0, 200);
        heading.append(link);
        article.append(heading, text);
        place.append(article);
      });
    };
    field.value = new URLSearchParams(location.search).get("q") || "";
    field.addEventListener("input", show);
    show();
  }));
})();
