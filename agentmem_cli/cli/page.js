"use strict";
(() => {
  // Nothing is done at load but to show the bar: the work of a search is cut in
  // slices between which the page scrolls, and only begins when somebody asks.
  const SLICE_MS = 10;
  const RANGES_MAX = 500;
  const bar = document.getElementById("find");
  const field = bar.querySelector("input");
  const told = bar.querySelector("output");
  const [before, after, folds] = bar.querySelectorAll("button");
  const marks = typeof Highlight === "function" && CSS.highlights ? CSS.highlights : null;

  const turns = { search: 0, fold: 0 };
  let sought = null;
  let hits = [];
  let at = -1;
  let ranges = [];
  let within = 0;
  let waiting = 0;

  const idle = window.requestIdleCallback
    ? (step) => window.requestIdleCallback(step, { timeout: 100 })
    : (step) => setTimeout(step, 0);

  const sliced = (kind, items, each, ready) => {
    turns[kind] += 1;
    const turn = turns[kind];
    let next = 0;
    const step = () => {
      if (turn !== turns[kind]) return;
      const end = performance.now() + SLICE_MS;
      while (next < items.length && performance.now() < end) each(items[next++]);
      if (next < items.length) idle(step);
      ready(next >= items.length);
    };
    idle(step);
  };

  const clear = () => {
    turns.search += 1;
    hits = [];
    ranges = [];
    at = -1;
    sought = null;
    told.textContent = "";
    if (marks) { marks.delete("found"); marks.delete("now"); }
    before.disabled = after.disabled = true;
  };

  const pattern = (words) =>
    new RegExp(words.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&").replace(/\s+/g, "\\s+"), "giu");

  const search = () => {
    clear();
    const words = field.value.trim();
    if (!words) return;
    sought = pattern(words);
    told.textContent = "…";
    let first = true;
    sliced("search", [...document.querySelectorAll("article")], (article) => {
      sought.lastIndex = 0;
      if (sought.test(article.textContent)) hits.push(article);
    }, (done) => {
      if (hits.length && first) { first = false; visit(0, 1); }
      if (done || at >= 0) tell(done);
      before.disabled = after.disabled = !hits.length;
    });
  };

  const tell = (done) => {
    if (!hits.length) { told.textContent = done ? "nothing found" : "…"; return; }
    const count = hits.length.toLocaleString("en") + (done ? "" : "+");
    told.textContent = `message ${(at + 1).toLocaleString("en")} of ${count}`;
  };

  // The places of a match in one message: over its texts put together, since a
  // match may begin in one element and end in another.
  const placesIn = (article) => {
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    const nodes = [];
    const starts = [];
    let text = "";
    while (walker.nextNode()) {
      nodes.push(walker.currentNode);
      starts.push(text.length);
      text += walker.currentNode.data;
    }
    const found = [];
    let index = 0;
    const locate = (offset) => {
      while (index + 1 < starts.length && starts[index + 1] <= offset) index += 1;
      return [nodes[index], offset - starts[index]];
    };
    sought.lastIndex = 0;
    for (let match; found.length < RANGES_MAX && (match = sought.exec(text));) {
      const range = new Range();
      range.setStart(...locate(match.index));
      const [node, offset] = locate(match.index + match[0].length - 1);
      range.setEnd(node, offset + 1);
      found.push(range);
    }
    return found;
  };

  const open = (node) => {
    for (let each = node.parentElement; each; each = each.parentElement) {
      if (each.localName === "details") each.open = true;
    }
  };

  const visit = (index, step) => {
    at = index;
    ranges = placesIn(hits[at]);
    within = step > 0 ? 0 : ranges.length - 1;
    if (marks) marks.set("found", new Highlight(...ranges));
    point();
  };

  const point = () => {
    const range = ranges[within];
    if (!range) return;
    open(range.startContainer);
    if (marks) marks.set("now", new Highlight(range));
    range.startContainer.parentElement.scrollIntoView({ block: "center" });
    // Twice: what comes into view gets its true height only then.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const box = range.getBoundingClientRect();
      if (box.top < 80 || box.bottom > innerHeight) scrollBy(0, box.top - innerHeight / 3);
    }));
  };

  const move = (step) => {
    if (!hits.length) return;
    within += step;
    if (within < 0 || within >= ranges.length) {
      visit((at + step + hits.length) % hits.length, step);
    } else {
      point();
    }
    tell(!told.textContent.endsWith("+"));
  };

  const turnAll = () => {
    const opening = folds.textContent === "Unfold all";
    folds.textContent = opening ? "Fold all" : "Unfold all";
    sliced("fold", [...document.querySelectorAll("article details")], (each) => {
      each.open = opening;
    }, () => {});
  };

  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      move(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      field.value = "";
      clear();
      field.blur();
    }
  });
  before.addEventListener("click", () => move(-1));
  after.addEventListener("click", () => move(1));
  folds.addEventListener("click", turnAll);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.activeElement === field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  bar.hidden = false;
})();
