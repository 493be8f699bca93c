import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** An indexed picture has so many colours. */
const MOST_COLOURS = 256
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const RGB = 2

/** The same picture with a palette: a third of the bytes of what a browser writes. Colours that nearly no pixel has become the nearest one. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = pixelsOf(png)
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const { palette, indexOf } = paletteOf(counts)
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf.get(pixels[y * width + x]!)!
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap(channelsOf))
  const parts = [chunk('IHDR', header), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 }))]
  return Buffer.concat([SIGNATURE, ...parts, chunk('IEND', Buffer.alloc(0))])
}

const channelsOf = (colour: number): [number, number, number] => [colour >> 16, (colour >> 8) & 255, colour & 255]

/** The most frequent colours that are far enough from each other. */
function paletteOf(counts: Map<number, number>) {
  const colours = [...counts].sort(([a, m], [b, n]) => n - m || a - b).map(([colour]) => colour)
  for (let least = 0; ; least += 6) {
    const palette: number[] = []
    const indexOf = new Map<number, number>()
    for (const colour of colours) {
      const { index, distance } = nearest(palette, colour)
      if (palette.length > 0 && distance <= least) indexOf.set(colour, index)
      else indexOf.set(colour, palette.push(colour) - 1)
      if (palette.length > MOST_COLOURS) break
    }
    if (palette.length <= MOST_COLOURS) return { palette, indexOf }
  }
}

function nearest(palette: readonly number[], colour: number): { index: number; distance: number } {
  const [red, green, blue] = channelsOf(colour)
  let [index, distance] = [-1, Number.POSITIVE_INFINITY]
  for (let n = 0; n < palette.length; n++) {
    const [r, g, b] = channelsOf(palette[n]!)
    const away = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2
    if (away < distance) [index, distance] = [n, away]
  }
  return { index, distance }
}

function pixelsOf(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const parts: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  if (png[24] !== 8 || png[25] !== RGB) throw new Error('the browser has written another kind of PNG')
  const raw = inflateSync(Buffer.concat(parts))
  const stride = width * 3
  const lines = Buffer.alloc(height * stride)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!
    for (let x = 0; x < stride; x++) {
      const left = x < 3 ? 0 : lines[y * stride + x - 3]!
      const up = y === 0 ? 0 : lines[(y - 1) * stride + x]!
      const corner = x < 3 || y === 0 ? 0 : lines[(y - 1) * stride + x - 3]!
      lines[y * stride + x] = raw[y * (stride + 1) + 1 + x]! + predicted(filter, left, up, corner)
    }
  }
  const pixels = new Uint32Array(width * height)
  for (let n = 0; n < pixels.length; n++) pixels[n] = lines.readUIntBE(n * 3, 3)
  return { width, height, pixels }
}

/** The filters of PNG: none, left, up, their mean, and Paeth's. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}
