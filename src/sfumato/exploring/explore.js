// The page of `explore`, after frontier.js in the same module.

const data = JSON.parse(document.getElementById("data").textContent);
const put = (id, text) => { document.getElementById(id).textContent = text; };

const select = frontier({
  root: document,
  tip: document.getElementById("tip"),
  points: data.points,
  chosen: (number) => {
    const point = data.points[number];
    put("name", point.name);
    put("words", point.words);
    put("shell", point.command);
    put("python", point.python);
    document.getElementById("multiples").replaceChildren(...data.questions.map((question, place) =>
      multiple(question, [{ name: "release", shares: point.released[place], kind: "published" }])));
  },
});
sortable(document.getElementById("points"));

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source); // pages opened from a file may not copy
      button.textContent = "Selected";
    }
  });
}
select(data.recommended);
