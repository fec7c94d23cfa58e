"use strict";
// An image of three kinds of pixels: on (1), off (0) and unknown (-1), painted by hand or by keys.

const UNKNOWN = [70, 110, 190];

/** Draw values from 0 to 1, row by row, on a canvas; -1 is shown as unknown. */
function drawImage(canvas, values, shape) {
  canvas.width = shape.columns;
  canvas.height = shape.rows;
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(shape.columns, shape.rows);
  values.forEach((value, place) => {
    const shade = Math.round(255 * (shape.inverted ? 1 - value : value));
    const colour = value < 0 ? UNKNOWN : [shade, shade, shade];
    pixels.data.set([...colour, 255], 4 * place);
  });
  context.putImageData(pixels, 0, 0);
}

/** The canvas that is painted on. `changed` is called after every stroke. */
class Easel {
  constructor(shape, changed) {
    this.shape = shape;
    this.changed = changed;
    this.tool = 1;
    this.cursor = 0;
    this.values = new Array(shape.rows * shape.columns).fill(-1);
    this.canvas = document.createElement("canvas");
    this.canvas.className = "easel";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.addEventListener("pointerdown", event => this.begin(event));
    this.canvas.addEventListener("pointermove", event => this.go(event));
    this.canvas.addEventListener("pointerup", () => this.end());
    this.canvas.addEventListener("pointercancel", () => this.end());
    this.canvas.addEventListener("keydown", event => this.key(event));
    this.canvas.addEventListener("focus", () => this.show());
    this.canvas.addEventListener("blur", () => this.show());
    this.show();
  }

  set(values) {
    this.values = [...values];
    this.show();
    this.changed();
  }

  show() {
    drawImage(this.canvas, this.values, this.shape);
    const row = Math.floor(this.cursor / this.shape.columns);
    const column = this.cursor % this.shape.columns;
    const kind = {"-1": "unknown", 0: "off", 1: "on"}[this.values[this.cursor]];
    this.canvas.setAttribute("aria-label",
      `Image to paint. Row ${row + 1}, column ${column + 1} is ${kind}. Arrow keys move, 1 is on, 0 is off, Delete is unknown.`);
    if (document.activeElement === this.canvas) {
      const context = this.canvas.getContext("2d");
      context.fillStyle = "#f9731699";
      context.fillRect(column, row, 1, 1);
    }
  }

  begin(event) {
    this.painting = true;
    this.canvas.setPointerCapture(event.pointerId);
    this.go(event);
  }

  go(event) {
    if (!this.painting) return;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * this.shape.columns);
    const row = Math.floor((event.clientY - box.top) / box.height * this.shape.rows);
    if (row < 0 || column < 0 || row >= this.shape.rows || column >= this.shape.columns) return;
    this.cursor = row * this.shape.columns + column;
    this.values[this.cursor] = this.tool;
    this.show();
  }

  end() {
    if (this.painting) this.changed();
    this.painting = false;
  }

  key(event) {
    const {columns, rows} = this.shape;
    const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns};
    const paints = {1: 1, 0: 0, " ": this.tool, Delete: -1, Backspace: -1};
    if (event.key in steps) {
      const next = this.cursor + steps[event.key];
      if (next >= 0 && next < columns * rows) this.cursor = next;
    } else if (event.key in paints) {
      this.values[this.cursor] = paints[event.key];
      this.changed();
    } else {
      return;
    }
    event.preventDefault();
    this.show();
  }
}
