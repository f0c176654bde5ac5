// Draws the diagrams, without a request to another host, and gives each transcript a button that copies its command.
const base = new URL(".", import.meta.url);
const diagrams = [...document.querySelectorAll("pre.diagram")];

async function draw() {
  const { mermaid } = await import(new URL("mermaid/index.js", base));
  const dark = document.body.getAttribute("data-md-color-scheme") === "slate";
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "default" });
  for (const [i, block] of diagrams.entries()) {
    block.source ??= block.textContent;
    try {
      block.innerHTML = (await mermaid.render(`diagram-${i}`, block.source)).svg;
      block.dataset.drawn = "yes";
    } catch (error) {
      console.error(`a diagram cannot be drawn: ${error.message}`);
    }
  }
}

if (diagrams.length > 0) {
  await draw();
  new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}

for (const block of document.querySelectorAll(".language-console")) {
  const commands = block.textContent.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  if (commands.length === 0) continue;
  const button = document.createElement("button");
  button.className = "copy-command";
  button.textContent = "copy the command";
  button.onclick = () => navigator.clipboard.writeText(commands.join("\n"));
  block.after(button);
}
