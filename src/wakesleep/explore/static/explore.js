"use strict";
// The page: what is given goes to the server, and what the machines say of the rest is shown.
// Names and values come from people's files: they are only ever set as text.

const byId = id => document.getElementById(id);
const make = (tag, text = "", className = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
};
const percent = share => share >= 0.995 ? "100 %" : share < 0.0995 ? `${(100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`;

let about, easel;
const given = new Map();
let seed = 0, asked = 0, waiting = null;

async function fetchJson(name, options) {
  const response = await fetch(name, options);
  const values = await response.json();
  if (!response.ok) throw new Error(values.error);
  return values;
}

function say(words, wrong = false) {
  byId("status").textContent = words;
  byId("status").classList.toggle("wrong", wrong);
}

/** Ask soon: strokes and clicks in a row are one question. */
function askSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 150);
}

async function ask() {
  const mine = ++asked;
  say("thinking …");
  try {
    const body = JSON.stringify({given: Object.fromEntries(question()), seed});
    const options = {method: "POST", headers: {"Content-Type": "application/json"}, body};
    const answers = await fetchJson("ask", options);
    // A later question makes an earlier answer old.
    if (mine === asked) show(answers.machines);
  } catch (error) {
    if (mine === asked) say(error.message, true);
  }
}

function question() {
  if (!easel) return given;
  const found = new Map();
  about.image.pixels.forEach((bit, place) => {
    if (easel.values[place] >= 0) found.set(bit, [easel.values[place]]);
  });
  return found;
}

function show(machines) {
  if (easel) showImages(machines); else showTable(machines);
  const count = question().size;
  const what = easel ? "pixel" : "column";
  const words = machines.map(one => one.log_probability === null ? null
    : !easel && one.log_probability > -7 ? `in ${percent(Math.exp(one.log_probability))} of rows`
    : `log probability ${one.log_probability.toFixed(1)} nats`);
  const known = words.filter(word => word !== null).join(" and ");
  say(count ? `${count} ${what}${count > 1 ? "s" : ""} given${known ? ": " + known : ""}` : "nothing is given");
}

// Tables.

function buildColumns() {
  about.columns.forEach((column, group) => {
    const field = make("fieldset");
    field.append(make("legend", column.name));
    field.append(make("p", column.kind, "soft note"));
    const states = make("div", "", "states");
    column.labels.forEach((label, state) => {
      const button = make("button", "", "state");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      const bars = make("span", "", "bars");
      about.machines.forEach(() => bars.append(make("span")));
      button.title = label;
      button.append(make("span", label, "label"), bars, make("span", "", "share"));
      button.addEventListener("click", () => toggle(group, state));
      states.append(button);
    });
    field.append(states);
    byId("columns").append(field);
  });
}

function toggle(group, state) {
  const chosen = new Set(given.get(group) ?? []);
  if (!chosen.delete(state)) chosen.add(state);
  if (chosen.size) given.set(group, [...chosen]); else given.delete(group);
  showGiven();
  askSoon();
}

function showGiven() {
  [...byId("columns").children].forEach((field, group) => {
    const chosen = given.get(group) ?? [];
    field.classList.toggle("given", chosen.length > 0);
    [...field.querySelectorAll(".state")].forEach((button, state) =>
      button.setAttribute("aria-pressed", String(chosen.includes(state))));
  });
}

function showTable(machines) {
  [...byId("columns").children].forEach((field, group) => {
    const shares = machines.map(one => one.distributions[group]);
    [...field.querySelectorAll(".state")].forEach((button, state) => {
      const values = shares.map(one => one[state]);
      [...button.querySelector(".bars").children].forEach((bar, which) => {
        bar.style.width = `${100 * values[which]}%`;
      });
      button.querySelector(".share").textContent = values.map(percent).join(" ");
      button.setAttribute("aria-label", `${about.columns[group].labels[state]}, ${values.map(percent).join(" and ")}`);
    });
    const odd = machines.map(one => one.odd[group]).filter(value => value !== undefined);
    field.querySelector(".note").textContent = odd.length
      ? `${about.columns[group].kind}; given the others ${odd.map(value => percent(Math.exp(value))).join(" and ")} likely`
      : about.columns[group].kind;
  });
  const place = byId("completions");
  place.replaceChildren();
  machines.forEach((one, which) => {
    place.append(heading(which, "rows that fit"));
    const table = make("table");
    const head = make("tr");
    about.columns.forEach((column, group) => {
      const cell = make("th", column.name, given.has(group) ? "given" : "");
      cell.scope = "col";
      head.append(cell);
    });
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    one.completions.forEach(row => {
      const line = make("tr");
      row.forEach((value, group) => line.append(make("td", value, given.has(group) ? "given" : "")));
      table.tBodies[0].append(line);
    });
    const wide = make("div", "", "wide");
    wide.tabIndex = 0;
    wide.setAttribute("role", "region");
    wide.setAttribute("aria-label", `Rows from ${about.machines[which].name}`);
    wide.append(table);
    place.append(wide);
  });
}

function heading(which, words) {
  const title = make("h2");
  title.append(make("span", "", which ? "key second" : "key"), `${about.machines[which].name}: ${words}`);
  return title;
}

// Images.

function buildImage() {
  const place = byId("image");
  place.hidden = false;
  easel = new Easel(about.image, askSoon);
  const tools = make("div", "", "tools");
  [["on", 1], ["off", 0], ["unknown", -1]].forEach(([word, value]) => {
    const label = make("label", "", "choice");
    const input = make("input");
    input.type = "radio";
    input.name = "tool";
    input.checked = value === 1;
    input.addEventListener("change", () => { easel.tool = value; });
    label.append(input, word);
    tools.append(label);
  });
  if (about.image.examples.length) {
    const button = make("button", "Half a test image");
    button.type = "button";
    let next = 0;
    button.addEventListener("click", () => {
      const bits = about.image.examples[next++ % about.image.examples.length];
      easel.set(about.image.pixels.map(bit => bits[bit]));
    });
    tools.append(button);
  }
  const row = make("div", "", "paint");
  row.append(figure("What you give; blue is unknown", easel.canvas));
  about.machines.forEach((one, which) => {
    const mean = make("canvas", "", "mean");
    mean.id = `mean-${which}`;
    mean.setAttribute("role", "img");
    mean.setAttribute("aria-label", `The probability of each pixel by ${one.name}`);
    row.append(figure(`${one.name}: the probability of each pixel`, mean));
  });
  place.append(tools, row);
}

function figure(caption, content) {
  const element = make("figure");
  element.append(make("figcaption", caption), content);
  return element;
}

function showImages(machines) {
  const {pixels} = about.image;
  const place = byId("completions");
  place.replaceChildren();
  machines.forEach((one, which) => {
    drawImage(byId(`mean-${which}`), pixels.map(bit => one.distributions[bit][1]), about.image);
    place.append(heading(which, "images that fit"));
    const drawn = make("div", "", "drawn");
    one.completions.forEach((bits, number) => {
      const canvas = make("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Completion ${number + 1}`);
      drawImage(canvas, pixels.map(bit => bits[bit]), about.image);
      drawn.append(canvas);
    });
    place.append(drawn);
  });
}

async function start() {
  about = await fetchJson("about.json");
  const names = about.machines.map(one => one.name).join(" and ");
  byId("title").textContent = names;
  document.title = `${names} – wakesleep explore`;
  about.machines.forEach((one, which) => {
    byId("machines").append(make("span", "", which ? "key second" : "key"), `${one.model} on ${one.data} `);
  });
  if (about.image) {
    buildImage();
    byId("how").textContent = "Paint some pixels on or off, with the pointer or with arrow keys and 1, 0 and Delete: the model fills in the rest.";
  } else {
    buildColumns();
    byId("how").textContent = "Choose a value to give it; choose several of a column to allow each of them. Bars are the model's probabilities given your choices.";
  }
  byId("more").addEventListener("click", () => { seed += 1; ask(); });
  byId("clear").addEventListener("click", () => {
    given.clear();
    showGiven();
    if (easel) easel.set(easel.values.map(() => -1)); else askSoon();
  });
  await ask();
}

start().catch(error => say(error.message, true));
