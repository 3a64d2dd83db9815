// Corrections: click a point, choose its class, download them as a file that xsdc fit takes.
(() => {
  const find = (id) => document.getElementById(id);
  const chosen = new Map();
  const dialog = find("correction"), field = find("correction-class"), bar = find("corrections"), link = find("corrections-file");
  let now = null, url = null;

  const cell = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  function write() {
    bar.hidden = chosen.size === 0;
    find("corrections-count").textContent = String(chosen.size);
    const lines = [...chosen].map(([id, name]) => cell(id) + "," + cell(name));
    if (url) URL.revokeObjectURL(url);
    url = URL.createObjectURL(new Blob(["id,label\n" + lines.join("\n") + "\n"], { type: "text/csv" }));
    link.href = url;
    for (const button of document.querySelectorAll(".fix")) {
      button.classList.toggle("fixed", chosen.has(button.dataset.id));
    }
  }
  function open(id, found) {
    now = id;
    find("correction-id").textContent = id;
    find("correction-found").textContent = found;
    field.value = chosen.get(id) || "";
    dialog.hidden = false;
    field.focus();
  }
  function close() {
    dialog.hidden = true;
    now = null;
  }
  function save() {
    const name = field.value.trim();
    if (!name || now === null) return;
    chosen.set(now, name);
    write();
    close();
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".fix");
    if (button) open(button.dataset.id, button.dataset.found);
  });
  document.addEventListener("correct", (event) => open(event.detail.id, event.detail.found));
  find("correction-save").addEventListener("click", save);
  find("correction-close").addEventListener("click", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") save();
    if (event.key === "Escape") close();
  });
  find("corrections-clear").addEventListener("click", () => { chosen.clear(); write(); });
})();
