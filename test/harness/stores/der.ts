/** One value of DER. */
export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const { length } = body
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

export const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts)

const base128 = (value: number): number[] => {
  const bytes = [value & 0x7f]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest & 0x7f))
  return bytes
}

/** An object identifier such as `1.2.840.10045.4.3.3`. */
export function objectId(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number)
  return der(0x06, Buffer.from([first! * 40 + second!, ...rest.flatMap(base128)]))
}

/** UTCTime: the years 1950 to 2049. */
export const utcTime = (at: Date): Buffer => der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replaceAll(/\D/g, '')}Z`))
