// Points and boxes on a canvas: from above, from a side of a box, and in perspective. No graphics card is needed.

const BACKGROUND = 0xff1a1611;  // as bytes: alpha, blue, green, red
const EDGES = [];
for (let a = 0; a < 8; a++) for (let bit = 1; bit < 8; bit *= 2) if (!(a & bit)) EDGES.push([a, a | bit]);
export const NEAR = 0.05;

export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const along = (p, axis, t) => [p[0] + axis[0] * t, p[1] + axis[1] * t, p[2] + axis[2] * t];
export const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];

// The unit axes of a box.
export function axesOf(box) {
  if (box.axes) return box.axes;
  const turn = box.turn_deg * Math.PI / 180, c = Math.cos(turn), s = Math.sin(turn);
  return [[c, s, 0], [-s, c, 0], [0, 0, 1]];
}

export function cornersOf(box) {
  const axes = axesOf(box), corners = [];
  for (let k = 0; k < 8; k++) {
    let p = box.center;
    for (let i = 0; i < 3; i++) p = along(p, axes[i], box.size[i] / 2 * (k >> i & 1 ? 1 : -1));
    corners.push(p);
  }
  return corners;
}

// The edges of a box as pairs of [x, y]; project gives [x, y, depth]; what is before the near plane is cut off.
export function edgesOf(box, project) {
  const ends = cornersOf(box).map(project), lines = [];
  for (const [a, b] of EDGES) {
    let p = ends[a], q = ends[b];
    if (p[2] < NEAR && q[2] < NEAR) continue;
    if (p[2] < NEAR || q[2] < NEAR) {
      const share = (NEAR - p[2]) / (q[2] - p[2]);
      const cut = [0, 1, 2].map(i => p[i] + share * (q[i] - p[i]));
      if (p[2] < NEAR) p = cut; else q = cut;
    }
    lines.push([[p[0] / p[2], p[1] / p[2]], [q[0] / q[2], q[1] / q[2]]]);
  }
  return lines;
}

export function strokeBox(context, box, project, style) {
  context.save();
  context.setLineDash(style.dash || []);
  for (const [width, color] of [[style.width + 2, "rgb(0 0 0 / .7)"], [style.width, style.color]]) {
    context.lineWidth = width;
    context.strokeStyle = color;
    context.beginPath();
    for (const [p, q] of edgesOf(box, project)) { context.moveTo(...p); context.lineTo(...q); }
    context.stroke();
  }
  context.restore();
}

export function write(context, text, x, y, color = "#fff") {
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.lineWidth = 3;
  context.strokeStyle = "rgb(0 0 0 / .8)";
  context.strokeText(text, x, y);
  context.fillStyle = color;
  context.fillText(text, x, y);
}

export class View {
  // Camera: right, up and toward (to the viewer) are unit axes, center a place, scale pixels per metre; low and high
  // limit what is shown along toward. With a distance the view is a perspective one from so far before the center.
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.camera = null;
    this.image = null;
    this.stale = true;
  }

  look(camera) {
    this.camera = camera;
    this.stale = true;
  }

  // Adapts to the size on screen; whether there is any.
  fits() {
    const width = Math.round(this.canvas.clientWidth), height = Math.round(this.canvas.clientHeight);
    if (!width || !height) return false;
    if (this.canvas.width !== width || this.canvas.height !== height || !this.image) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.nearest = new Float32Array(width * height);
      this.stale = true;
    }
    return true;
  }

  // [x, y, depth] of a place, to be divided by depth.
  project(p) {
    const { right, up, toward, center, scale, distance } = this.camera, d = minus(p, center);
    const depth = distance ? distance - dot(toward, d) : 1, k = distance ? scale * distance : scale;
    return [this.canvas.width / 2 * depth + k * dot(right, d), this.canvas.height / 2 * depth - k * dot(up, d), depth];
  }

  screen(p) {
    const [x, y, depth] = this.project(p);
    return [x / depth, y / depth];
  }

  // The place under a pixel, in the plane of the center.
  place(x, y) {
    const { right, up, center, scale } = this.camera;
    return along(along(center, right, (x - this.canvas.width / 2) / scale), up, (this.canvas.height / 2 - y) / scale);
  }

  // The ray through a pixel: where it begins and its direction.
  ray(x, y) {
    const { toward, center, distance } = this.camera, on = this.place(x, y);
    if (!distance) return [along(on, toward, 1e4), toward.map(t => -t)];
    const eye = along(center, toward, distance), d = minus(on, eye), length = Math.hypot(...d);
    return [eye, d.map(t => t / length)];
  }

  draw(cloud, paint) {
    if (!this.camera || !this.fits()) return;
    if (this.stale) this.splat(cloud);
    this.context.putImageData(this.image, 0, 0);
    paint(this.context);
  }

  splat(cloud) {
    const { right, up, toward, center, scale, distance, low, high } = this.camera;
    const { xyz, color, spacing } = cloud, W = this.canvas.width, H = this.canvas.height;
    const { pixels, nearest } = this;
    const [rx, ry, rz] = right, [ux, uy, uz] = up, [tx, ty, tz] = toward, [cx, cy, cz] = center;
    pixels.fill(BACKGROUND);
    nearest.fill(-Infinity);
    const flat = Math.min(9, Math.max(1, Math.ceil(spacing * scale * 1.5)));
    for (let i = 0, k = 0; i < color.length; i++, k += 3) {
      const dx = xyz[k] - cx, dy = xyz[k + 1] - cy, dz = xyz[k + 2] - cz;
      const t = tx * dx + ty * dy + tz * dz;
      if (t < low || t > high) continue;
      let pixel = scale, size = flat;
      if (distance) {
        const depth = distance - t;
        if (depth < NEAR) continue;
        pixel = scale * distance / depth;
        size = Math.min(9, Math.max(1, Math.ceil(spacing * pixel * 1.5)));
      }
      const x = Math.floor(W / 2 + pixel * (rx * dx + ry * dy + rz * dz) - size / 2);
      const y = Math.floor(H / 2 - pixel * (ux * dx + uy * dy + uz * dz) - size / 2);
      if (x <= -size || y <= -size || x >= W || y >= H) continue;
      const right_ = Math.min(W, x + size), bottom = Math.min(H, y + size), c = color[i];
      for (let v = Math.max(0, y); v < bottom; v++) {
        for (let u = Math.max(0, x), at = v * W + u; u < right_; u++, at++) {
          if (t > nearest[at]) { nearest[at] = t; pixels[at] = c; }
        }
      }
    }
    this.stale = false;
  }
}

// How far along a ray a box begins; null where the ray misses it.
export function hit(box, [from, direction]) {
  const axes = axesOf(box), d = minus(from, box.center);
  let first = -Infinity, last = Infinity;
  for (let i = 0; i < 3; i++) {
    const at = dot(axes[i], d), speed = dot(axes[i], direction), half = box.size[i] / 2;
    if (Math.abs(speed) < 1e-9) { if (Math.abs(at) > half) return null; continue; }
    const a = (-half - at) / speed, b = (half - at) / speed;
    first = Math.max(first, Math.min(a, b));
    last = Math.min(last, Math.max(a, b));
  }
  return first <= last ? first : null;
}
