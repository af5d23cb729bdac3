// Scores of search results. Pages that mention everything, or that are alike, stand below the page of the thing itself.
var Scorer = {
  score: ([page, , , , score]) => {
    if (page === "changelog") return score / 20;
    if (page.startsWith("problems/") || page.startsWith("explanation/")) return score / 3;
    if (page.startsWith("reference/api/")) return score / 2;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 10,
  term: 5,
  partialTerm: 2,
};
