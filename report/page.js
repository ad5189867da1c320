/* page.js - draws the figures of a report from the JSON in #data. Texts of files go into text nodes
 * and canvases, never into markup. */
(function () {
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const tip = document.getElementById("tip");
const root = document.documentElement;
const redraws = []; /* called when colours or widths change */

/* ---- elements, numbers, colours ---- */

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key === "class") e.className = value;
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value);
  e.append(...children);
  return e;
}

const SVG = "http://www.w3.org/2000/svg";
function sv(tag, attributes, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/* At most four digits; whole numbers with separators. */
function show(x) {
  if (x === null || !Number.isFinite(x)) return "no value";
  if (Number.isInteger(x)) return Math.abs(x) < 1e15 ? x.toLocaleString("en-US") : String(x);
  const a = Math.abs(x);
  return a >= 1e6 || a < 1e-4 ? x.toExponential(2) : String(Number(x.toPrecision(4)));
}

function unpack(p) {
  const raw = atob(p.data), n = raw.length * 8 / p.bits, top = p.bits === 8 ? 254 : 65534;
  const values = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    const code = p.bits === 8 ? raw.charCodeAt(i)
      : raw.charCodeAt(2 * i) | raw.charCodeAt(2 * i + 1) << 8;
    values[i] = code > top ? NaN : p.low + (p.high - p.low) * code / top;
  }
  return values;
}

const SCALES = {
  light: {
    unit: ["f4f8fc", "c8dbee", "73aad6", "266eb2", "08306b"],
    range: ["440154", "3b528b", "21918c", "5ec962", "fde725"],
    diverging: ["184f95", "78abd4", "f6f6f4", "e78e6e", "a81e2d"]
  },
  dark: {
    unit: ["151c24", "1c3f63", "2a72b5", "6fb5ec", "e6f4ff"],
    range: ["5a2a7a", "4a67a8", "2aa39c", "74d46f", "fde94a"],
    diverging: ["6cb2f5", "2f6296", "222a34", "a3503f", "ff9a84"]
  }
};
const tables = {};
/* 256 colours of a scale as bytes. */
function ramp(scale) {
  const key = theme() + scale;
  if (tables[key]) return tables[key];
  const stops = SCALES[theme()][scale].map(c => [0, 2, 4].map(k => parseInt(c.slice(k, k + 2), 16)));
  const table = new Uint8Array(768);
  for (let i = 0; i < 256; i++) {
    const at = i / 255 * 4, k = Math.min(3, Math.floor(at));
    for (let c = 0; c < 3; c++)
      table[3 * i + c] = Math.round(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
  }
  return tables[key] = table;
}
function colour(scale, share) {
  const t = ramp(scale), i = 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
  return "rgb(" + t[i] + "," + t[i + 1] + "," + t[i + 2] + ")";
}
function css(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

/* ---- light and dark ---- */

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
function theme() { return chosen || (prefersDark.matches ? "dark" : "light"); }
const themeButton = document.getElementById("theme");
function applyTheme() {
  root.dataset.theme = theme();
  themeButton.textContent = theme() === "dark" ? "Light page" : "Dark page";
  redraws.forEach(f => f());
}
themeButton.addEventListener("click", () => { chosen = theme() === "dark" ? "light" : "dark"; applyTheme(); });
prefersDark.addEventListener("change", applyTheme);
addEventListener("beforeprint", () => { root.dataset.before = chosen || ""; chosen = "light"; applyTheme(); });
addEventListener("afterprint", () => { chosen = root.dataset.before || null; applyTheme(); });

/* ---- what is below the pointer ---- */

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
}

/* A canvas of this size in CSS pixels, sharp on every screen. */
function fit(canvas, width, height) {
  const k = Math.max(1, devicePixelRatio || 1);
  canvas.width = Math.round(width * k);
  canvas.height = Math.round(height * k);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const g = canvas.getContext("2d");
  g.setTransform(k, 0, 0, k, 0, 0);
  g.font = "11px system-ui, sans-serif";
  g.imageSmoothingEnabled = false;
  return g;
}

/* Pointer and arrow keys move over a canvas; at(x, y) names what is there, step(dx, dy) gives the
 * next place [x, y] of the keyboard. */
function explore(canvas, at, step) {
  canvas.tabIndex = 0;
  canvas.addEventListener("pointermove", e => showTip(at(e.offsetX, e.offsetY), e.clientX, e.clientY));
  canvas.addEventListener("pointerleave", () => showTip(""));
  canvas.addEventListener("blur", () => showTip(""));
  canvas.addEventListener("keydown", e => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!move) return;
    e.preventDefault();
    const [x, y] = step(move[0] * (e.shiftKey ? 10 : 1), move[1] * (e.shiftKey ? 10 : 1));
    const box = canvas.getBoundingClientRect();
    showTip(at(x, y), box.left + x, box.top + y);
  });
}

function save(canvas, name) {
  return el("button", { type: "button", title: "Save this figure as PNG", onclick: () =>
    canvas.toBlob(b => {
      const a = el("a", { href: URL.createObjectURL(b), download: name.replace(/[^\w.-]+/g, "_").slice(0, 80) + ".png" });
      a.click();
    }) }, "PNG");
}

/* Ticks at 1, 2 or 5 times a power of ten, at most n. */
function ticks(low, high, n) {
  const span = high - low || 1;
  let step = Math.pow(10, Math.floor(Math.log10(span / n)));
  if (!(step > 0) || !Number.isFinite(step)) return [low];
  while (span / step > n) step *= span / (2 * step) <= n ? 2 : span / (5 * step) <= n ? 5 : 10;
  const list = [], first = Math.ceil(low / step - 1e-9);
  for (let k = 0; k <= n + 1 && (first + k) * step <= high + 1e-9 * span; k++)
    list.push(Number(((first + k) * step).toPrecision(12)));
  return list;
}

/* low, high, name: values, or functions that give them. */
function legend(scale, low, high, name) {
  const bar = el("i"), ends = [el("span"), el("span")], words = el("span");
  redraws.push(() => {
    ends[0].textContent = show(typeof low === "function" ? low() : low);
    ends[1].textContent = show(typeof high === "function" ? high() : high);
    words.textContent = typeof name === "function" ? name() : name;
    const stops = [];
    for (let k = 0; k <= 8; k++) stops.push(colour(scale, k / 8));
    bar.style.background = "linear-gradient(to right," + stops.join(",") + ")";
  });
  return el("div", { class: "legend" }, ends[0], bar, ends[1], words);
}

/* ---- heat maps ---- */

function image(f, values) {
  const off = document.createElement("canvas"), table = ramp(f.scale), none = css("--missing");
  const gone = [1, 3, 5].map(k => parseInt(none.slice(k, k + 2), 16));
  off.width = f.columns;
  off.height = f.rows;
  const g = off.getContext("2d"), pixels = g.createImageData(f.columns, f.rows);
  const low = f.low, span = f.high - low || 1;
  for (let i = 0; i < values.length; i++) {
    const v = values[i], k = 3 * Math.round(255 * Math.min(1, Math.max(0, (v - low) / span)));
    for (let c = 0; c < 3; c++) pixels.data[4 * i + c] = v === v ? table[k + c] : gone[c];
    pixels.data[4 * i + 3] = 255;
  }
  g.putImageData(pixels, 0, 0);
  return off;
}

function position(f, c) {
  const first = f.first + c * f.step, last = f.first + (c + 1) * f.step - 1;
  const a = Math.round(first), b = Math.max(a, Math.round(last));
  return f.step > 1 && b > a ? a + "-" + b : String(a);
}

/* A square map of residue pairs. size() gives the side in CSS pixels. */
function squareMap(f, values, size) {
  const canvas = el("canvas", { role: "img", "aria-label": f.valueName + " of pairs of " + f.title +
    ", " + Math.round(f.columns * f.step) + " columns; arrow keys move over it" });
  const left = 40, bottom = 24;
  let side = 100, at = [0, 0];
  const draw = () => {
    side = Math.max(120, size() - left - 2);
    const g = fit(canvas, side + left + 2, side + bottom), n = f.columns * f.step;
    g.drawImage(image(f, values), left, 0, side, side);
    g.strokeStyle = css("--line");
    g.strokeRect(left + .5, .5, side - 1, side - 1);
    g.fillStyle = css("--soft");
    for (const t of ticks(f.first, f.first + n - 1, side / 60)) {
      const p = (t - f.first + .5) / n * side;
      g.textAlign = "center";
      g.fillText(show(t), left + Math.min(p, side - 8), side + 16);
      g.textAlign = "right";
      g.fillText(show(t), left - 6, Math.max(p + 4, 9));
    }
  };
  redraws.push(draw);
  explore(canvas, (x, y) => {
    const c = Math.floor((x - left) / side * f.columns), r = Math.floor(y / side * f.rows);
    if (c < 0 || r < 0 || c >= f.columns || r >= f.rows) return "";
    at = [c, r];
    const name = (list, word, k) => word + " " + (list ? list[k] : position(f, k));
    return name(f.rowNames, f.rowName, r) + ", " + name(f.columnNames, f.columnName, c) + "\n" + f.valueName + " " + show(values[r * f.columns + c]);
  }, (dx, dy) => {
    at = [Math.min(f.columns - 1, Math.max(0, at[0] + dx)), Math.min(f.rows - 1, Math.max(0, at[1] + dy))];
    return [left + (at[0] + .5) / f.columns * side, (at[1] + .5) / f.rows * side];
  });
  return canvas;
}

/* Rows with letters along a sequence; below them the mean of each position. */
function letterMap(f, values) {
  const names = el("canvas", { "aria-hidden": "true" });
  const canvas = el("canvas", { role: "img", "aria-label": f.valueName + " by position of " + f.title + ", " + f.columns + " positions; arrow keys move over it" });
  const top = 20, high = f.letters ? 15 : Math.max(3, Math.min(15, Math.round(300 / f.rows))), means = f.scale === "diverging";
  const letters = f.letters || "", mean = new Float32Array(f.columns);
  let wide = 12, at = [0, 0];
  for (let c = 0; c < f.columns; c++) {
    let sum = 0, n = 0;
    for (let r = 0; r < f.rows; r++) {
      const v = values[r * f.columns + c];
      if (v === v && letters[r] !== (f.wild || "")[c]) { sum += v; n++; }
    }
    mean[c] = n ? sum / n : NaN;
  }
  const body = f.rows * high, height = top + body + (means ? 26 : 0) + 20;
  const draw = () => {
    const room = (canvas.parentElement ? canvas.parentElement.clientWidth : 0) || 800;
    wide = Math.max(f.columns > 1500 ? 3 : 6, Math.min(18, Math.floor(room / f.columns)));
    const width = wide * f.columns, label = fit(names, 44, height);
    label.fillStyle = css("--soft");
    label.textAlign = "center";
    for (let r = 0; r < letters.length && r < f.rows; r++) label.fillText(letters[r], 34, top + r * high + 11);
    if (means) label.fillText("mean", 26, top + body + 19);
    const g = fit(canvas, width, height);
    g.drawImage(image(f, values), 0, top, width, body);
    g.textAlign = "center";
    for (let c = 0; c < f.columns; c++) {
      const row = f.wild && f.wild[c] !== " " ? letters.indexOf(f.wild[c]) : -1;
      if (row >= 0) {
        g.fillStyle = css("--ink");
        g.beginPath();
        g.arc((c + .5) * wide, top + (row + .5) * high, Math.min(2.6, wide / 3), 0, 7);
        g.fill();
      }
      if (f.wild && wide >= 8 && f.wild[c] !== " ") {
        g.fillStyle = css("--soft");
        g.fillText(f.wild[c], (c + .5) * wide, 14);
      }
      if (means && mean[c] === mean[c]) {
        g.fillStyle = colour(f.scale, (mean[c] - f.low) / (f.high - f.low || 1));
        g.fillRect(c * wide, top + body + 6, wide, 16);
      }
    }
    g.fillStyle = css("--soft");
    for (const t of ticks(f.first, f.first + f.columns - 1, width / 50))
      if (Number.isInteger(t)) {
        g.textAlign = t === f.first ? "left" : "center";
        g.fillText(String(t), t === f.first ? 0 : (t - f.first + .5) * wide, height - 5);
      }
  };
  redraws.push(draw);
  explore(canvas, (x, y) => {
    const c = Math.floor(x / wide), r = Math.floor((y - top) / high);
    if (c < 0 || c >= f.columns || r < 0) return "";
    at = [c, Math.min(r, f.rows - 1)];
    const wild = (f.wild || "")[c] || "", place = f.first + c;
    if (r >= f.rows) return means && y > top + body + 4 && y < top + body + 24 ? wild.trim() + place + ": mean " + show(mean[c]) : "";
    const name = letters ? (wild.trim() || f.columnName + " ") + place + (wild.trim() ? "" : " ") + letters[r]
      : f.columnName + " " + (f.columnNames ? f.columnNames[c] : place) + ", " + f.rowName + " " + (f.rowNames ? f.rowNames[r] : r);
    return name + (letters[r] === wild ? " (as it is)" : "") + "\n" + f.valueName + " " + show(values[r * f.columns + c]);
  }, (dx, dy) => {
    at = [Math.min(f.columns - 1, Math.max(0, at[0] + dx)), Math.min(f.rows - 1, Math.max(0, at[1] + dy))];
    return [(at[0] + .5) * wide, top + (at[1] + .5) * high];
  });
  return [el("div", { class: "beside" }, names, el("div", { class: "scroll plot" }, canvas)), canvas];
}

/* The ends of a scale: those of the figure, or stretched over all but the outermost values. */
function stretch(f, values, on) {
  const sorted = on ? values.filter(v => v === v).sort() : [];
  f.stretched = on && sorted.length > 0;
  f.low = f.stretched ? sorted[Math.floor(sorted.length * .01)] : f.values.low;
  f.high = f.stretched ? sorted[Math.floor((sorted.length - 1) * .995)] : f.values.high;
}

function heat(f, card, head) {
  const values = unpack(f.values);
  let canvas, large = 0;
  if (f.scale === "unit") for (const v of values) large += v > .4;
  stretch(f, values, f.scale === "unit" && large < values.length * .005);
  if (f.scale !== "diverging") {
    const button = el("button", { type: "button", title: "Spread the colours over the values that occur", "aria-pressed": String(f.stretched),
      onclick: () => {
        stretch(f, values, !f.stretched);
        button.setAttribute("aria-pressed", String(f.stretched));
        redraws.forEach(d => d());
      } }, "Stretch");
    head.append(button);
  }
  if (f.letters || f.rows !== f.columns) {
    const [box, c] = letterMap(f, values);
    card.classList.add("wide");
    card.append(box);
    canvas = c;
  } else {
    canvas = squareMap(f, values, () => Math.min(520, card.clientWidth - 36));
    card.append(el("div", { class: "plot" }, canvas));
    head.append(el("button", { type: "button", onclick: () => enlarge(f, values) }, "Enlarge"));
  }
  head.append(save(canvas, f.title));
  card.append(legend(f.scale, () => f.low, () => f.high, () => f.valueName + (f.wild ? "; dots: as it is" : "") +
    (f.stretched ? "; colours stretched over the values that occur" : "")));
}

function enlarge(f, values) {
  const canvas = squareMap(f, values, () => Math.min(innerWidth * .9, innerHeight * .9 - 110));
  const draw = redraws[redraws.length - 1];
  const dialog = el("dialog", { "aria-label": f.title }, el("header", { class: "tools" }, el("h3", {}, f.title),
    el("button", { type: "button", onclick: () => dialog.close() }, "Close")), canvas);
  dialog.append(tip); /* what is not in the open dialog lies below it */
  dialog.addEventListener("close", () => {
    document.body.append(tip);
    showTip("");
    redraws.splice(redraws.indexOf(draw), 1);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  draw();
}

/* ---- histograms ---- */

function histogram(f, card) {
  const w = 400, h = 170, left = 42, right = 18, bottom = 24, n = f.counts.length, most = Math.max(1, ...f.counts);
  const step = (f.high - f.low) / n, width = (w - left - right) / n, body = h - bottom - 8;
  const svg = sv("svg", { viewBox: "0 0 " + w + " " + h, width: "100%", role: "img",
    "aria-label": "Histogram of " + f.title + ": " + f.n + " values, median " + show(f.median) });
  for (const t of ticks(0, most, 4).filter(Number.isInteger)) {
    const y = 8 + body * (1 - t / most);
    svg.append(sv("path", { class: "axis", d: "M" + left + " " + y + "H" + (w - right) }),
      sv("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, show(t)));
  }
  f.counts.forEach((count, k) => {
    const y = body * count / most;
    svg.append(sv("rect", { class: "bar", x: left + k * width + .8, y: 8 + body - y, width: Math.max(.5, width - 1.6), height: y },
      sv("title", {}, show(f.low + k * step) + " to " + show(f.low + (k + 1) * step) + ": " + show(count))));
  });
  for (const t of ticks(f.low, f.high, 7))
    svg.append(sv("text", { x: left + (t - f.low) / (f.high - f.low) * (w - left - right), y: h - 6, "text-anchor": "middle" }, show(t)));
  card.append(svg, el("p", { class: "stats" }, show(f.n) + " values" + (f.unit ? " in " + f.unit : "") + "; from " + show(f.min) + " to " + show(f.max) +
    ", median " + show(f.median) + ", mean " + show(f.mean)));
}

/* ---- scatter plots ---- */

function scatter(f, card, head) {
  const x = unpack(f.x), y = unpack(f.y), c = unpack(f.colour);
  const canvas = el("canvas", { role: "img", "aria-label": f.title + ", " + (f.segments ? f.n / 2 + " lines" : f.n + " points") + "; arrow keys go from point to point" });
  const order = Array.from(x.keys()).sort((a, b) => x[a] - x[b]);
  const left = 58, bottom = 42;
  let w = 600, h = 420, cursor = 0;
  const px = i => left + 12 + (x[i] - f.x.low) / (f.x.high - f.x.low || 1) * (w - left - 24);
  const py = i => h - bottom - 12 - (y[i] - f.y.low) / (f.y.high - f.y.low || 1) * (h - bottom - 24);
  const share = i => (c[i] - f.colour.low) / (f.colour.high - f.colour.low || 1);
  const draw = () => {
    w = Math.min(960, card.clientWidth - 36);
    h = Math.round(Math.min(520, Math.max(320, w * .6)));
    const g = fit(canvas, w, h), r = f.n > 3000 ? 2 : f.n > 500 ? 3 : 4.5;
    g.strokeStyle = css("--line");
    g.strokeRect(left + .5, .5, w - left - 1, h - bottom - 1);
    g.globalAlpha = f.n > 3000 ? .6 : .85;
    if (f.segments) {
      g.strokeStyle = css("--bar");
      g.lineWidth = 2;
      g.lineCap = "round"; /* a line without length is a dot */
      g.beginPath();
      for (let i = 0; i + 1 < f.n; i += 2) {
        g.moveTo(px(i), py(i));
        g.lineTo(px(i + 1), py(i + 1));
      }
      g.stroke();
      g.lineWidth = 1;
      g.lineCap = "butt";
    }
    for (let i = 0; i < f.n && !f.segments; i++) {
      g.fillStyle = c[i] === c[i] ? colour("range", share(i)) : css(f.colourName ? "--soft" : "--bar");
      g.beginPath();
      g.arc(px(i), py(i), r, 0, 7);
      g.fill();
    }
    g.globalAlpha = 1;
    g.fillStyle = css("--soft");
    g.textAlign = "center";
    for (const t of ticks(f.x.low, f.x.high, 8)) g.fillText(show(t), left + 12 + (t - f.x.low) / (f.x.high - f.x.low || 1) * (w - left - 24), h - bottom + 14);
    g.fillText(f.xName, (w + left) / 2, h - 8);
    g.textAlign = "right";
    for (const t of ticks(f.y.low, f.y.high, 6)) g.fillText(show(t), left - 6, h - bottom - 8 - (t - f.y.low) / (f.y.high - f.y.low || 1) * (h - bottom - 24));
    g.save();
    g.translate(11, (h - bottom) / 2);
    g.rotate(-Math.PI / 2);
    g.textAlign = "center";
    g.fillText(f.yName, 0, 0);
    g.restore();
  };
  redraws.push(draw);
  explore(canvas, (a, b) => {
    let best = -1, near = 200;
    for (let i = 0; i < f.n; i++) {
      const d = (px(i) - a) ** 2 + (py(i) - b) ** 2;
      if (d < near) { near = d; best = i; }
    }
    return best < 0 ? "" : f.labels[best] + (f.colourName ? "\n" + f.colourName + " " + show(Math.round(c[best] * 1000) / 1000) : "");
  }, (dx, dy) => {
    cursor = Math.min(f.n - 1, Math.max(0, cursor + (dx || -dy)));
    return [px(order[cursor]), py(order[cursor])];
  });
  card.classList.add("two");
  head.append(save(canvas, f.title));
  card.append(el("div", { class: "plot" }, canvas));
  if (f.colourName) card.append(legend("range", f.colour.low, f.colour.high, f.colourName));
}

/* ---- tracks ---- */

function tracks(f, card, head) {
  const values = f.tracks.map(t => unpack(t.values));
  const canvas = el("canvas", { role: "img", "aria-label": f.tracks.length + " tracks of " + f.title + "; arrow keys move along them" });
  const left = 120, band = 56, gap = 20, lanes = [], span = (f.bins - (f.lines ? 1 : 0)) * f.step, end = f.start + span;
  for (const gene of f.genes) { /* a lane each, the first that is free */
    const from = gene.start, to = Math.max(gene.end, gene.start + span * .012 * (gene.name.length + 3));
    let k = 0;
    while (k < lanes.length && lanes[k] > from) k++;
    lanes[k] = to;
    gene.lane = k;
  }
  const height = f.tracks.length * (band + gap) + lanes.length * 26 + 42;
  let w = 800, cursor = 0;
  const draw = () => {
    w = Math.max(320, card.clientWidth - 36);
    const g = fit(canvas, w, height), wide = w - left - 8;
    f.tracks.forEach((t, k) => {
      const low = f.lines ? t.values.low : Math.min(0, t.values.low), most = f.lines ? t.values.high : Math.max(0, t.values.high), high = most > low ? most : 1, y = k * (band + gap) + 12;
      const zero = y + band * (1 - (0 - low) / (high - low));
      g.fillStyle = css("--bar");
      for (let i = 0; i < f.bins && !f.lines; i++) {
        const v = values[k][i];
        if (v !== v) continue;
        const top = y + band * (1 - (v - low) / (high - low));
        g.fillRect(left + i / f.bins * wide, Math.min(top, zero), Math.max(.7, wide / f.bins + .3), Math.abs(zero - top));
      }
      if (f.lines) {
        g.strokeStyle = css("--bar");
        g.lineWidth = 1.4;
        g.beginPath();
        values[k].forEach((v, i) => {
          if (v !== v) return;
          g[i && values[k][i - 1] === values[k][i - 1] ? "lineTo" : "moveTo"](left + i / (f.bins - 1) * wide, y + band * (1 - (v - low) / (high - low)));
        });
        g.stroke();
        g.lineWidth = 1;
      }
      const base = f.lines ? y + band : zero;
      g.strokeStyle = css("--line");
      g.beginPath();
      g.moveTo(left, Math.round(base) + .5);
      g.lineTo(left + wide, Math.round(base) + .5);
      g.stroke();
      g.fillStyle = css("--ink");
      g.textAlign = "right";
      g.fillText(t.name, left - 10, y + band / 2 + 4, left - 14);
      g.fillStyle = css("--soft");
      g.textAlign = "left";
      g.fillText(show(high), left + 2, y - 3);
      if (low < 0 || f.lines) g.fillText(show(low), left + 2, y + band + 10);
    });
    const base = f.tracks.length * (band + gap) + 12;
    for (const gene of f.genes) {
      const y = base + gene.lane * 26, at = b => left + Math.min(1, Math.max(0, (b - f.start) / span)) * wide;
      g.strokeStyle = g.fillStyle = css("--accent");
      g.beginPath();
      g.moveTo(at(gene.start), y + 5.5);
      g.lineTo(at(gene.end), y + 5.5);
      g.stroke();
      for (let i = 0; i < gene.exons.length; i += 2)
        if (gene.exons[i + 1] > f.start && gene.exons[i] < end)
          g.fillRect(at(gene.exons[i]), y + 1, Math.max(1.5, at(gene.exons[i + 1]) - at(gene.exons[i])), 9);
      g.fillStyle = css("--soft");
      g.textAlign = "left";
      g.fillText((gene.strand === "-" ? "< " : "") + gene.name + (gene.strand === "+" ? " >" : ""), at(gene.start), y + 21);
    }
    g.fillStyle = css("--soft");
    g.textAlign = "center";
    for (const t of ticks(f.start, end, wide / 110)) g.fillText(show(t), Math.min(w - 26, left + (t - f.start) / span * wide), height - 18);
    g.fillText(f.contig ? "base of " + f.contig : f.place || "bin", left + wide / 2, height - 4);
  };
  redraws.push(draw);
  explore(canvas, (x, y) => {
    const i = f.lines ? Math.round((x - left) / (w - left - 8) * (f.bins - 1)) : Math.floor((x - left) / (w - left - 8) * f.bins);
    if (i < 0 || i >= f.bins) return "";
    cursor = i;
    const where = Math.round(f.start + i * f.step), k = Math.floor((y - 5) / (band + gap));
    const list = f.tracks.map((t, j) => (j === k ? "> " : "") + t.name + " " + show(values[j][i]));
    return (f.contig ? f.contig + ":" + where.toLocaleString("en-US") : (f.place || "bin") + " " + where) + "\n" + list.join("\n");
  }, dx => {
    cursor = Math.min(f.bins - 1, Math.max(0, cursor + dx));
    return [left + (f.lines ? cursor / (f.bins - 1) : (cursor + .5) / f.bins) * (w - left - 8), 30];
  });
  card.classList.add("wide");
  head.append(save(canvas, f.title));
  card.append(el("div", { class: "plot" }, canvas));
}

/* ---- structures ---- */

/* pLDDT in the colours of AlphaFold's database: above 90, 70, 50, and the rest; on a dark page the blue is lighter */
const BANDS = [[90, "#0053d6", "above 90"], [70, "#65cbf3", "above 70"], [50, "#ffdb13", "above 50"], [-1, "#ff7d45", "below"]];
function band(b) { return theme() === "dark" && b[0] === 90 ? "#4385f5" : b[1]; }

/* A trace that the pointer turns; arrow keys turn it, too. */
function trace(f, card, head) {
  const at = [unpack(f.x), unpack(f.y), unpack(f.z)], value = unpack(f.values), starts = new Set(f.starts);
  const canvas = el("canvas", { role: "img", "aria-label": f.title + ", " + f.n + " residues; drag or arrow keys turn it" });
  const turned = [0, 1, 2].map(() => new Float32Array(f.n));
  let m = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], side = 500, most = 1, held = null;
  for (let i = 0; i < f.n; i++) most = Math.max(most, Math.hypot(at[0][i], at[1][i], at[2][i]));
  const share = v => (v - f.values.low) / (f.values.high - f.values.low || 1);
  const paint = v => v !== v ? css("--soft") : f.isPlddt ? band(BANDS.find(b => v > b[0])) : colour("range", share(v));
  const px = i => side / 2 + turned[0][i] / most * (side / 2 - 8), py = i => side / 2 - turned[1][i] / most * (side / 2 - 8);
  const draw = () => {
    side = Math.max(260, Math.min(560, card.clientWidth - 36));
    const g = fit(canvas, side, side), back = css("--card");
    for (let i = 0; i < f.n; i++)
      for (let k = 0; k < 3; k++) turned[k][i] = m[k][0] * at[0][i] + m[k][1] * at[1][i] + m[k][2] * at[2][i];
    const order = Array.from(turned[2].keys()).sort((a, b) => turned[2][a] - turned[2][b]);
    for (const i of order) {
      const before = starts.has(i) ? i : i - 1, after = i + 1 === f.n || starts.has(i + 1) ? i : i + 1;
      if (before === after) { /* alone between gaps */
        g.fillStyle = paint(value[i]);
        g.beginPath();
        g.arc(px(i), py(i), side / 180, 0, 7);
        g.fill();
        continue;
      }
      g.beginPath();
      g.moveTo((px(before) + px(i)) / 2, (py(before) + py(i)) / 2);
      g.quadraticCurveTo(px(i), py(i), (px(i) + px(after)) / 2, (py(i) + py(after)) / 2);
      g.lineCap = "butt";
      g.lineWidth = side / 72;
      g.strokeStyle = back;
      g.stroke();
      g.lineCap = "round";
      g.lineWidth = side / 115;
      g.strokeStyle = paint(value[i]);
      g.globalAlpha = .775 + .225 * turned[2][i] / most;
      g.stroke();
      g.globalAlpha = 1;
    }
  };
  const turn = (dx, dy) => { /* about the screen's axes, a half turn for its width */
    const [a, b] = [dx, dy].map(d => d / side * Math.PI);
    const by = [[Math.cos(a), 0, Math.sin(a)], [Math.sin(b) * Math.sin(a), Math.cos(b), -Math.sin(b) * Math.cos(a)],
      [-Math.cos(b) * Math.sin(a), Math.sin(b), Math.cos(b) * Math.cos(a)]];
    m = by.map(row => [0, 1, 2].map(k => row[0] * m[0][k] + row[1] * m[1][k] + row[2] * m[2][k]));
    draw();
  };
  redraws.push(draw);
  explore(canvas, (x, y) => {
    let best = -1, near = 100;
    for (let i = 0; i < f.n && !held; i++) {
      const d = (px(i) - x) ** 2 + (py(i) - y) ** 2;
      if (d < near) { near = d; best = i; }
    }
    return best < 0 ? "" : f.labels[best] + "\n" + (f.isPlddt ? "pLDDT " : "B-factor ") + show(Math.round(value[best] * 10) / 10);
  }, (dx, dy) => { turn(dx * 12, dy * 12); return [side / 2, -40]; });
  canvas.style.touchAction = "none";
  canvas.style.cursor = "grab";
  canvas.addEventListener("pointerdown", e => { held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", e => {
    if (!held) return;
    turn(e.clientX - held[0], e.clientY - held[1]);
    held = [e.clientX, e.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
  card.classList.add("two");
  head.append(save(canvas, f.title));
  card.append(el("div", { class: "plot" }, canvas), f.isPlddt ?
    el("div", { class: "legend bands" }, "pLDDT ", ...BANDS.map(b => {
      const mark = el("b");
      redraws.push(() => { mark.style.background = band(b); });
      return el("span", {}, mark, b[2]);
    })) :
    legend("range", f.values.low, f.values.high, "B-factor"));
}

/* ---- logos ---- */

const CHEMISTRY = [["GAVLIMC", "#4d7a3a", "#8fc573"], ["FWYP", "#8a5a00", "#e0ad4a"], ["STNQ", "#6a4fa3", "#b79df0"],
  ["KRH", "#1f5fae", "#7db3ee"], ["DE", "#b3352b", "#f08a7e"]];
function chemistry(letter) {
  const found = CHEMISTRY.find(c => c[0].includes(letter));
  return found ? found[theme() === "dark" ? 2 : 1] : css("--soft");
}

function logo(f, card, head) {
  const shares = unpack(f.values), n = f.letters.length, canvas = el("canvas", { role: "img",
    "aria-label": "Sequence logo of " + f.n + " designs of " + f.title + "; arrow keys move along it" });
  const band = 92, below = 34, left = 30;
  let wide = 15, line = 50, cursor = 0;
  const column = c => {
    const list = [];
    let bits = Math.log2(20);
    for (let r = 0; r < n; r++) {
      const p = shares[r * f.columns + c];
      if (p > 1e-4) { list.push([f.letters[r], p]); bits += p * Math.log2(p); }
    }
    return [list.sort((a, b) => a[1] - b[1]), list.length ? Math.max(0, bits) : 0];
  };
  const draw = () => {
    const room = Math.max(300, card.clientWidth - 36 - left);
    line = Math.max(10, Math.min(f.columns, Math.floor(room / 13 / 10) * 10));
    wide = Math.min(20, room / line);
    const g = fit(canvas, left + wide * line, Math.ceil(f.columns / line) * (band + below));
    for (let c = 0; c < f.columns; c++) {
      const [list, bits] = column(c), x = left + c % line * wide, row = Math.floor(c / line) * (band + below);
      let y = row + band;
      g.textAlign = "center";
      for (const [letter, p] of list) {
        const high = p * bits / Math.log2(20) * (band - 8);
        if (high > .7) {
          g.save();
          g.translate(x + wide / 2, y);
          g.font = "bold 20px system-ui, sans-serif";
          g.scale(wide * .94 / Math.max(1, g.measureText(letter).width), high / 14.6);
          g.fillStyle = chemistry(letter);
          g.fillText(letter, 0, 0);
          g.restore();
        }
        y -= high;
      }
      g.fillStyle = css("--soft");
      if (c % line === 0) {
        g.textAlign = "right";
        g.fillText("bits", left - 4, row + 26);
        g.fillText("4.32", left - 4, row + 14);
        g.fillText("0", left - 4, row + band);
        g.textAlign = "center";
      }
      if (f.wild) g.fillText(f.wild[c], x + wide / 2, row + band + 13);
      if ((c + 1) % 10 === 0 || c % line === 0) g.fillText(String(c + 1), x + wide / 2, row + band + (f.wild ? 26 : 14));
    }
  };
  redraws.push(draw);
  explore(canvas, (x, y) => {
    const c = Math.floor(y / (band + below)) * line + Math.floor((x - left) / wide);
    if (x < left || c < 0 || c >= f.columns || (x - left) / wide >= line) return "";
    cursor = c;
    const [list, bits] = column(c);
    return "position " + (c + 1) + (f.wild ? ", native " + f.wild[c] : "") + "\n" +
      list.reverse().slice(0, 6).map(([l, p]) => l + " " + Math.round(100 * p) + " %").join(", ") + "\n" + show(bits) + " bits";
  }, (dx, dy) => {
    cursor = Math.min(f.columns - 1, Math.max(0, cursor + dx + dy * line));
    return [left + (cursor % line + .5) * wide, Math.floor(cursor / line) * (band + below) + band / 2];
  });
  card.classList.add("wide");
  head.append(save(canvas, f.title));
  card.append(el("div", { class: "plot scroll" }, canvas), el("p", { class: "stats" },
    "Height of a column: information in bits, of at most 4.32; of a letter: its share of the designs" + (f.wild ? ". Below: the native residue." : ".")));
}

/* ---- alignments ---- */

function alignment(f) {
  const lines = [];
  const details = el("details", {}, el("summary", {}, el("span", { class: "names" }, f.title),
    el("span", { class: "values" }, (f.score === null ? "" : "score " + show(f.score)) + (f.identity === null ? "" : ", " + (100 * f.identity).toFixed(1) + " % identity") +
      ", " + show(f.columns) + " columns")));
  details.addEventListener("toggle", () => {
    if (!details.open || lines.length) return;
    const count = [0, 0, 0], pre = el("pre", { class: "rows", tabindex: "0", "aria-label": "Alignment of " + f.title });
    for (let at = 0; at < f.rows[0].length; at += 80) {
      f.rows.forEach((row, k) => {
        const part = row.slice(at, at + 80), before = count[k] + 1;
        count[k] += part.replace(/-/g, "").length;
        if (k === 1) pre.append(el("span", { class: "mid" }, "         " + part + "\n"));
        else pre.append(el("span", { class: "at" }, String(Math.min(before, Math.max(1, count[k]))).padStart(7) + "  "), part,
          el("span", { class: "at" }, "  " + count[k] + "\n"));
      });
      pre.append("\n");
      lines.push(at);
    }
    if (f.rows[0].length < f.columns) pre.append("... the first " + f.rows[0].length + " of " + f.columns + " columns\n");
    details.append(pre);
  });
  return details;
}

/* ---- tables ---- */

const titled = c => c.unit ? c.name + " (" + c.unit + ")" : c.name;
const ROW = 30;
function table(f, card, head) {
  const numbers = f.columns.map(c => !!c.numbers), cell = (k, i) => f.columns[k].numbers ? f.columns[k].numbers[i] : f.columns[k].texts[i];
  const text = (k, i) => { const v = cell(k, i); return v === null ? "" : numbers[k] ? show(v) : v; };
  let rows = Array.from({ length: f.rows }, (_, i) => i), sorted = -1, down = false, timer = 0;
  const least = f.columns.map((c, k) => {
    let most = titled(c).length + 3;
    for (let i = 0; i < Math.min(200, f.rows); i++) most = Math.max(most, text(k, i).length);
    return Math.ceil(Math.max(64, Math.min(c.name === "sequence" ? 1100 : 420, most * (c.name === "sequence" ? 8.2 : 7.4) + 24)));
  });
  let template = "";
  function measure() { /* what is left over goes to the columns of text, most of it to messages */
    const weight = f.columns.map((c, k) => numbers[k] ? .3 : /message/.test(c.name) ? 3 : 1);
    const left = Math.max(0, grid.clientWidth - least.reduce((a, b) => a + b, 0)), all = weight.reduce((a, b) => a + b, 0);
    template = least.map((w, k) => Math.floor(w + left * weight[k] / all) + "px").join(" ");
    headRow.style.gridTemplateColumns = template;
  }
  const count = el("span", { class: "count", role: "status" });
  const filter = el("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter the rows of " + f.title });
  const body = el("div", { class: "body", role: "rowgroup" }), headRow = el("div", { class: "row head", role: "row" });
  const grid = el("div", { class: "grid", role: "table", tabindex: "0", "aria-label": f.title, "aria-rowcount": f.rows + 1, "aria-colcount": f.columns.length }, headRow, body);
  const heads = f.columns.map((c, k) => {
    const button = el("button", { type: "button", onclick: () => sort(k) }, titled(c));
    const h = el("div", { role: "columnheader", class: numbers[k] ? "number" : "", "aria-sort": "none" }, button);
    headRow.append(h);
    return [h, button];
  });
  function draw(all) {
    const first = all ? 0 : Math.max(0, Math.floor(grid.scrollTop / ROW) - 8);
    const last = all ? Math.min(rows.length, 200) : Math.min(rows.length, first + Math.ceil((grid.clientHeight || 460) / ROW) + 20);
    body.style.height = (all ? last : rows.length) * ROW + "px";
    const list = [];
    for (let r = first; r < last; r++) {
      const line = el("div", { class: "row", role: "row", "aria-rowindex": r + 2 });
      line.style.top = r * ROW + "px";
      line.style.gridTemplateColumns = template;
      for (let k = 0; k < f.columns.length; k++) {
        const t = text(k, rows[r]);
        line.append(el("div", { role: "cell", class: "cell" + (numbers[k] ? " number" : f.columns[k].name === "sequence" ? " letters" : ""), title: t.length > 40 ? t : "" }, t));
      }
      list.push(line);
    }
    body.replaceChildren(...list);
    count.textContent = rows.length === f.rows ? show(f.rows) + (f.rows === 1 ? " row" : " rows") : show(rows.length) + " of " + show(f.rows) + " rows";
  }
  function arrange() {
    const word = filter.value.toLowerCase();
    rows = [];
    for (let i = 0; i < f.rows; i++) {
      let has = !word;
      for (let k = 0; k < f.columns.length && !has; k++) has = text(k, i).toLowerCase().includes(word);
      if (has) rows.push(i);
    }
    if (sorted >= 0) {
      const sign = down ? -1 : 1, k = sorted;
      rows.sort((a, b) => {
        const x = cell(k, a), y = cell(k, b);
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (numbers[k] ? x - y : x < y ? -1 : x > y ? 1 : 0) || a - b;
      });
    }
    grid.scrollTop = 0;
    draw();
  }
  function sort(k) {
    if (sorted === k && down === numbers[k]) down = !down;
    else if (sorted === k) sorted = -1;
    else { sorted = k; down = numbers[k]; }
    heads.forEach(([h, b], j) => {
      h.setAttribute("aria-sort", j !== sorted ? "none" : down ? "descending" : "ascending");
      b.textContent = titled(f.columns[j]) + (j !== sorted ? "" : down ? " \u25BC" : " \u25B2");
    });
    arrange();
  }
  filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(arrange, f.rows > 3000 ? 120 : 0); });
  grid.addEventListener("scroll", () => requestAnimationFrame(() => draw()));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
  redraws.push(() => { measure(); draw(); });
  head.append(el("button", { type: "button", onclick: () => {
    const clean = s => String(s).replace(/[\t\r\n]/g, " ");
    const lines = [f.columns.map(c => clean(c.name)).join("\t")];
    for (const i of rows) lines.push(f.columns.map((c, k) => { const v = cell(k, i); return v === null ? "" : clean(v); }).join("\t"));
    const a = el("a", { href: URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/tab-separated-values" })), download: f.title.replace(/\W+/g, "_") + ".tsv" });
    a.click();
  } }, "Save rows"));
  card.classList.add(f.group === "Overview" ? "two" : "wide");
  card.append(f.rows > 8 ? el("div", { class: "tools" }, filter, count) : "", grid);
}

/* ---- the page ---- */

const MADE = "How it was made"; /* the group of the last table */
const draws = { heat, histogram, scatter, tracks, logo, trace, table };

main.append(el("h1", {}, data.title), el("p", { class: "kind" }, data.kind.charAt(0).toUpperCase() + data.kind.slice(1) + (data.record ? ", record " + data.record : "")));
const facts = el("dl", { class: "facts" });
for (const [name, value] of data.facts) {
  const number = /^\d+$/.test(value);
  facts.append(el("div", { class: "fact" + (number ? "" : " long") + (value.length > 40 ? " code" : "") + (name === "Without a result" && number ? value === "0" ? " good" : " bad" : "") },
    el("dt", {}, name), el("dd", {}, number ? Number(value).toLocaleString("en-US") : value)));
}
main.append(facts);
if (!data.figures.some(f => f.group === MADE)) main.append(el("p", { class: "about" }, "How it was made is not known: no NAME.provenance.json lies beside the output."));

const groups = new Map();
for (const f of data.figures) {
  if (!groups.has(f.group)) groups.set(f.group, []);
  groups.get(f.group).push(f);
}
const nav = document.getElementById("nav");
let number = 0;
/* distributions and overview first, what may be long last */
const rank = g => g === MADE ? 4 : g === "Overview" ? 0 : g === "Records" || g === "Table" || g === "Pairs" ? 3 : g === "Distributions" ? 2 : 1;
for (const [group, figures] of [...groups].sort((a, b) => rank(a[0]) - rank(b[0]))) {
  const id = "section-" + number++, cards = el("div", { class: "cards" });
  const title = group.charAt(0).toUpperCase() + group.slice(1).replace(/_/g, " ");
  nav.append(el("a", { href: "#" + id }, title));
  main.append(el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), cards));
  if (figures[0].kind === "alignment") {
    const card = el("div", { class: "card wide" });
    const known = figures.some(f => f.hasLetters);
    card.append(el("p", { class: "note" }, figures.length + " alignments, evenly chosen; | equal, . different." +
      (known ? "" : " x stands for a residue that the file does not tell: --sequences A.fasta,B.fasta gives the letters.")));
    const list = el("div", { class: "list" });
    figures.forEach(f => list.append(alignment(f)));
    card.append(list);
    card.querySelector("details").open = true;
    cards.append(card);
    continue;
  }
  for (const f of figures) {
    const head = el("header", {}, el("h3", {}, f.title)), card = el("figure", { class: "card" }, head);
    cards.append(card);
    if (f.note) card.append(el("p", { class: "note" }, f.note));
    draws[f.kind](f, card, head);
  }
}
applyTheme();
let wait = 0;
addEventListener("resize", () => { cancelAnimationFrame(wait); wait = requestAnimationFrame(() => redraws.forEach(f => f())); });
root.dataset.ready = String(Math.round(performance.now()));
}());
