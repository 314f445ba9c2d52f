/* What the theme leaves unsaid to a screen reader, or out of reach of a keyboard. */
document.addEventListener("DOMContentLoaded", () => {
  // The lists beside a page fold: what a fold holds is named by the link before it.
  for (const summary of document.querySelectorAll("li.has-children > details > summary")) {
    const link = summary.closest("li").querySelector(":scope > a");
    if (link) summary.setAttribute("aria-label", `Pages of ${link.textContent.trim()}`);
  }
  // On a phone wide formulas scroll.
  for (const frame of document.querySelectorAll(".formula")) {
    for (const [key, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": "Formula" })) frame.setAttribute(key, value);
  }
});
