// Sorting and filtering of a table of students. Without it the table stands whole, by student.
(function () {
  "use strict";
  const table = document.getElementById("table");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const find = document.getElementById("find");
  const group = document.getElementById("group");
  const missed = document.getElementById("missed");
  const shown = document.getElementById("shown");
  const texts = rows.map((row) => {
    const titles = Array.from(row.querySelectorAll(".flag[title]"), (flag) => flag.title);
    const remarks = row.querySelector(".remarks")?.textContent ?? "";
    return (row.cells[0].textContent + " " + remarks + " " + titles.join(" ")).toLowerCase();
  });

  function filter() {
    const wanted = find.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row, index) => {
      const match =
        texts[index].includes(wanted) &&
        (!group?.value || row.dataset.groups.split(" ").includes(group.value)) &&
        (!missed?.value || row.dataset.missed.split(" ").includes(missed.value));
      row.hidden = !match;
      count += match ? 1 : 0;
    });
    shown.value = count === rows.length ? "Showing all " + count : "Showing " + count + " of " + rows.length;
  }

  function value(row, column, kind) {
    const cell = row.cells[column];
    return kind === "number" ? Number(cell.dataset.value) : cell.textContent;
  }

  function sort(header) {
    const kind = header.dataset.sort;
    const column = header.cellIndex;
    // numbers first come largest first: marks, remarks and times are looked at from the top
    const first = kind === "number" ? "descending" : "ascending";
    const other = kind === "number" ? "ascending" : "descending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const names = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
    const sorted = rows.slice().sort((a, b) => {
      const left = value(a, column, kind);
      const right = value(b, column, kind);
      return sign * (kind === "number" ? left - right : names.compare(left, right));
    });
    body.append(...sorted);
  }

  for (const header of table.tHead.rows[0].querySelectorAll("[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(header));
    header.replaceChildren(button);
  }
  table.tHead.rows[0].cells[0].setAttribute("aria-sort", "ascending");
  const controls = document.getElementById("controls");
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("input", filter);
  filter();

  // Folded parts are printed open, then folded again.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    for (const details of folded) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
  });
})();
