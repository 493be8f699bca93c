import { der, objectId, sequence } from './der.ts'

const integer = (value: number) => {
  const bytes = [value & 0xff]
  for (let rest = value >> 8; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff)
  return der(0x02, Buffer.from(bytes[0]! > 0x7f ? [0, ...bytes] : bytes))
}
const octets = (value: Uint8Array) => der(0x04, value)
const set = (...parts: Uint8Array[]) => der(0x31, ...parts)
const attribute = (type: number, value: Uint8Array) => sequence(integer(type), integer(1), octets(value))
const text = (value: string) => der(0x0c, Buffer.from(value))

/** The attributes of a receipt: the app, and its purchases, each by its transaction. */
const payload = (transactions: string[]) =>
  set(
    attribute(2, text('com.example')),
    attribute(3, text('1.0')),
    ...transactions.map(id =>
      attribute(17, set(attribute(1702, text('com.example.monthly')), attribute(1703, text(id)), attribute(1705, text(id)))),
    ),
  )

/** `wrapped`: once more, as Xcode does it; `streamed`: with lengths that only the end tells. */
export type ReceiptForm = 'plain' | 'wrapped' | 'streamed'

const open = (tag: number, ...parts: Uint8Array[]) => Buffer.concat([Buffer.from([tag, 0x80]), ...parts, Buffer.from([0, 0])])

/** A receipt of an app as a device has it, in base64, without a signature that holds. */
export function appReceipt(transactions: string[], form: ReceiptForm = 'plain'): string {
  const content = form === 'plain' ? payload(transactions) : octets(payload(transactions))
  const data = objectId('1.2.840.113549.1.7.1')
  const signed = objectId('1.2.840.113549.1.7.2')
  if (form === 'streamed') {
    const string = open(0x24, octets(payload(transactions)))
    return open(0x30, signed, open(0xa0, open(0x30, integer(1), set(), open(0x30, data, open(0xa0, string))))).toString('base64')
  }
  const inner = sequence(integer(1), set(sequence(objectId('1.3.14.3.2.26'))), sequence(data, der(0xa0, octets(content))), set())
  return sequence(signed, der(0xa0, inner)).toString('base64')
}
