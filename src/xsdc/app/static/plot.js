// Points on a canvas: WebGL where there is it, two dimensions elsewhere. Points keep their identity and glide.
const VERTEX = `
attribute vec2 before; attribute vec2 after; attribute vec4 colour; attribute float size;
uniform float phase; uniform vec2 scale; uniform vec2 shift; uniform float unit;
varying vec4 ink; varying float large;
void main() {
  gl_Position = vec4(mix(before, after, phase) * scale + shift, 0.0, 1.0);
  gl_PointSize = unit * size;
  ink = colour; large = size;
}`;
const FRAGMENT = `
precision mediump float;
varying vec4 ink; varying float large;
void main() {
  float r = 2.0 * length(gl_PointCoord - 0.5);
  if (r > 1.0) discard;
  float rim = large > 1.5 ? smoothstep(0.62, 0.7, r) * (1.0 - smoothstep(0.9, 1.0, r)) : 0.0;
  gl_FragColor = vec4(mix(ink.rgb, vec3(1.0), rim), ink.a * (1.0 - smoothstep(0.85, 1.0, r)));
}`;
const GLIDE = 900;  // milliseconds
const CELLS = 64;   // of the grid by which the point under the pointer is found

export class Plot {
  constructor(canvas, { webgl = true } = {}) {
    this.canvas = canvas;
    this.view = { zoom: 1, x: 0, y: 0 };
    this.n = 0;
    this.phase = 1;
    this.before = this.after = new Float32Array(0);
    this.frames = [];
    this.gl = webgl ? canvas.getContext("webgl", { antialias: false, alpha: true, premultipliedAlpha: false }) : null;
    if (this.gl) this.prepare();
    else this.flat = canvas.getContext("2d");
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); this.upload(); this.draw(); });
  }

  get kind() {
    return this.gl ? "webgl" : "2d";
  }

  prepare() {
    const gl = this.gl;
    const shader = (type, source) => {
      const made = gl.createShader(type);
      gl.shaderSource(made, source);
      gl.compileShader(made);
      return made;
    };
    const program = gl.createProgram();
    gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.buffers = {};
    for (const [name, count, type] of [["before", 2, gl.FLOAT], ["after", 2, gl.FLOAT], ["colour", 4, gl.UNSIGNED_BYTE], ["size", 1, gl.FLOAT]]) {
      const buffer = gl.createBuffer(), place = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, count, type, type === gl.UNSIGNED_BYTE, 0, 0);
      this.buffers[name] = buffer;
    }
    this.uniforms = Object.fromEntries(["phase", "scale", "shift", "unit"].map((name) => [name, gl.getUniformLocation(program, name)]));
  }

  fill(name, data) {
    if (!this.gl) return;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }

  upload() {
    this.fill("before", this.before);
    this.fill("after", this.after);
    if (this.colours) this.fill("colour", this.colours);
    if (this.sizes) this.fill("size", this.sizes);
  }

  setPlaces(places) {
    if (places === this.after) return;
    const moves = this.n === places.length / 2;
    this.before = moves ? this.now() : places;
    this.after = places;
    this.n = places.length / 2;
    this.grid = null;
    this.upload();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (moves && !calm) this.glide();
    else { this.phase = 1; this.draw(); }
  }

  now() {
    const places = new Float32Array(this.after.length), t = this.phase;
    for (let i = 0; i < places.length; i++) places[i] = this.before[i] * (1 - t) + this.after[i] * t;
    return places;
  }

  glide() {
    const begun = performance.now();
    const step = (time) => {
      const t = Math.min(1, (time - begun) / GLIDE);
      this.phase = t * t * (3 - 2 * t);
      this.paint();
      if (t < 1) this.gliding = requestAnimationFrame(step);
    };
    cancelAnimationFrame(this.gliding);
    this.gliding = requestAnimationFrame(step);
  }

  setColours(colours, sizes) {
    this.colours = colours;
    this.sizes = sizes;
    this.fill("colour", colours);
    this.fill("size", sizes);
    this.draw();
  }

  // From places to pixels of the page: x = places * side + middle.
  frame() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const side = 0.46 * Math.min(width, height) * this.view.zoom;
    return { width, height, side, x: width / 2 + this.view.x, y: height / 2 + this.view.y };
  }

  unit() {
    const { width, height } = this.frame();
    const room = Math.min(width, height) / Math.sqrt(Math.max(this.n, 1));
    return Math.min(14, Math.max(2.2, 0.42 * room) * Math.pow(this.view.zoom, 0.4));
  }

  draw() {
    if (!this.pending) this.pending = requestAnimationFrame(() => { this.pending = 0; this.paint(); });
  }

  paint() {
    const { canvas } = this, ratio = Math.min(devicePixelRatio || 1, 2), { width, height, side, x, y } = this.frame();
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.frames.push(performance.now());
    if (this.frames.length > 120) this.frames.shift();
    if (!this.n || !this.colours) return;
    if (this.gl) this.paintFast(ratio, { width, height, side, x, y });
    else this.paintFlat(ratio, { width, height, side, x, y });
  }

  paintFast(ratio, { width, height, side, x, y }) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform1f(this.uniforms.phase, this.phase);
    gl.uniform2f(this.uniforms.scale, (2 * side) / width, (2 * side) / height);
    gl.uniform2f(this.uniforms.shift, (2 * x) / width - 1, 1 - (2 * y) / height);
    gl.uniform1f(this.uniforms.unit, this.unit() * ratio);
    gl.drawArrays(gl.POINTS, 0, this.n);
  }

  paintFlat(ratio, { width, height, side, x, y }) {
    const flat = this.flat, unit = this.unit(), t = this.phase;
    flat.setTransform(ratio, 0, 0, ratio, 0, 0);
    flat.clearRect(0, 0, width, height);
    const many = this.n > 20000;
    let last = -1;
    for (let i = 0; i < this.n; i++) {
      const px = x + side * (this.before[2 * i] * (1 - t) + this.after[2 * i] * t);
      const py = y - side * (this.before[2 * i + 1] * (1 - t) + this.after[2 * i + 1] * t);
      const size = unit * this.sizes[i];
      if (px < -size || py < -size || px > width + size || py > height + size) continue;
      const c = 4 * i, key = (this.colours[c] << 16) | (this.colours[c + 1] << 8) | this.colours[c + 2];
      if (key !== last) {
        flat.fillStyle = "rgb(" + this.colours[c] + "," + this.colours[c + 1] + "," + this.colours[c + 2] + ")";
        last = key;
      }
      flat.globalAlpha = this.colours[c + 3] / 255;
      if (many) flat.fillRect(px - size / 2, py - size / 2, size, size);
      else {
        flat.beginPath();
        flat.arc(px, py, size / 2, 0, 7);
        flat.fill();
      }
    }
    flat.globalAlpha = 1;
  }

  // ---- finding points ----
  index() {
    if (this.grid) return this.grid;
    const grid = Array.from({ length: CELLS * CELLS }, () => []);
    for (let i = 0; i < this.n; i++) grid[this.cell(this.after[2 * i]) + CELLS * this.cell(this.after[2 * i + 1])].push(i);
    this.grid = grid;
    return grid;
  }

  cell(value) {
    return Math.max(0, Math.min(CELLS - 1, Math.floor(((value + 1.25) / 2.5) * CELLS)));
  }

  at(px, py, radius = 10) {
    const { side, x, y } = this.frame(), u = (px - x) / side, v = (y - py) / side, reach = radius / side;
    const grid = this.index();
    let best = -1, least = reach * reach;
    for (let cx = this.cell(u - reach); cx <= this.cell(u + reach); cx++) {
      for (let cy = this.cell(v - reach); cy <= this.cell(v + reach); cy++) {
        for (const i of grid[cx + CELLS * cy]) {
          const d = (this.after[2 * i] - u) ** 2 + (this.after[2 * i + 1] - v) ** 2;
          if (d < least) { least = d; best = i; }
        }
      }
    }
    return best;
  }

  // Points inside a closed line of pixels [[x, y], ...].
  within(line) {
    const { side, x, y } = this.frame();
    const corners = line.map(([px, py]) => [(px - x) / side, (y - py) / side]);
    const us = corners.map((corner) => corner[0]), vs = corners.map((corner) => corner[1]);
    const [left, right, low, high] = [Math.min(...us), Math.max(...us), Math.min(...vs), Math.max(...vs)];
    const found = [];
    for (let i = 0; i < this.n; i++) {
      const u = this.after[2 * i], v = this.after[2 * i + 1];
      if (u < left || u > right || v < low || v > high) continue;
      let inside = false;
      for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
        const [ua, va] = corners[a], [ub, vb] = corners[b];
        if (va > v !== vb > v && u < ((ub - ua) * (v - va)) / (vb - va) + ua) inside = !inside;
      }
      if (inside) found.push(i);
    }
    return found;
  }

  zoomAt(factor, px, py) {
    const { width, height } = this.frame(), view = this.view;
    const zoom = Math.max(0.7, Math.min(60, view.zoom * factor)), ratio = zoom / view.zoom;
    const x = (px ?? width / 2) - width / 2, y = (py ?? height / 2) - height / 2;
    view.x = x - (x - view.x) * ratio;
    view.y = y - (y - view.y) * ratio;
    view.zoom = zoom;
    this.draw();
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.draw();
  }

  reset() {
    this.view = { zoom: 1, x: 0, y: 0 };
    this.draw();
  }
}
