// The receipt of an app on iOS: PKCS #7 around a set of attributes. Apple's library reads it too, but its time grows with the square of the
// number of attributes, and every client with a Project Key can send any receipt. Here each byte is read once for each level.

const [INTEGER, OCTETS, INDEFINITE] = [0x02, 0x04, 0x80]
const OCTETS_IN_PARTS = 0x24
const IS_CONSTRUCTED = 0x20
/** Receipts have ten levels. */
const DEEPEST = 20

/** Types of attributes. */
const [IN_APP, TRANSACTION_ID, ORIGINAL_TRANSACTION_ID] = [17, 1703, 1705]

class Malformed extends Error {}

/** One element: its content is [from, to), the element after it begins at `next`. */
type Element = { tag: number; from: number; to: number; next: number }

function elementAt(bytes: Uint8Array, at: number, end: number, depth: number): Element {
  if (depth > DEEPEST || at + 2 > end) throw new Malformed()
  const tag = bytes[at]!
  const first = bytes[at + 1]!
  if (first === INDEFINITE) {
    if ((tag & IS_CONSTRUCTED) === 0) throw new Malformed()
    const from = at + 2
    let to = from
    while (!(bytes[to] === 0 && bytes[to + 1] === 0)) to = elementAt(bytes, to, end, depth + 1).next
    return { tag, from, to, next: to + 2 }
  }
  const digits = first < INDEFINITE ? 0 : first - INDEFINITE
  if (digits > 4) throw new Malformed()
  let length = digits === 0 ? first : 0
  for (let i = 0; i < digits; i++) length = length * 256 + (bytes[at + 2 + i] ?? 0)
  const from = at + 2 + digits
  const to = from + length
  if (to > end) throw new Malformed()
  return { tag, from, to, next: to }
}

function* elementsIn(bytes: Uint8Array, { from, to }: Pick<Element, 'from' | 'to'>): Generator<Element> {
  for (let at = from; at < to; ) {
    const element = elementAt(bytes, at, to, 0)
    yield element
    at = element.next
  }
}

/** The element to which the indexes lead, level by level. */
function elementOn(bytes: Uint8Array, path: readonly number[]): Element {
  let found: Element = { tag: 0, from: 0, to: bytes.length, next: bytes.length }
  for (const index of path) {
    const inner = elementsIn(bytes, found)
    let next = inner.next()
    for (let i = 0; i < index && !next.done; i++) next = inner.next()
    if (next.done) throw new Malformed()
    found = next.value
  }
  return found
}

/** The content of a string of bytes, which may be cut into parts. */
function octets(bytes: Uint8Array, element: Element): Uint8Array {
  if (element.tag !== OCTETS_IN_PARTS) return bytes.subarray(element.from, element.to)
  return Buffer.concat([...elementsIn(bytes, element)].map(part => bytes.subarray(part.from, part.to)))
}

type Attribute = { type: number; value: Uint8Array }

function* attributesIn(set: Uint8Array): Generator<Attribute> {
  for (const attribute of elementsIn(set, elementOn(set, [0]))) {
    const [type, , value] = elementsIn(set, attribute)
    const size = type ? type.to - type.from : 0
    if (type?.tag !== INTEGER || size < 1 || size > 4 || !value) continue
    yield { type: Buffer.from(set.subarray(type.from, type.to)).readUIntBE(0, size), value: octets(set, value) }
  }
}

/** The text in an attribute. */
function textIn(value: Uint8Array): string {
  const { from, to } = elementOn(value, [0])
  return Buffer.from(value.subarray(from, to)).toString('utf8')
}

/** ContentInfo, SignedData, EncapsulatedContentInfo, its content. */
const PATH_TO_CONTENT = [0, 1, 0, 2, 1, 0]

function transactionIn(bytes: Uint8Array): string | null {
  const content = octets(bytes, elementOn(bytes, PATH_TO_CONTENT))
  // Receipts of Xcode are wrapped once more.
  const set = content[0] === OCTETS ? octets(content, elementOn(content, [0])) : content
  for (const { type, value } of attributesIn(set))
    if (type === IN_APP)
      for (const inner of attributesIn(value))
        if (inner.type === TRANSACTION_ID || inner.type === ORIGINAL_TRANSACTION_ID) return textIn(inner.value)
  return null
}

/**
 * The id of one transaction of the customer, from a receipt in base64. Null: the receipt names none; undefined: the text is no receipt.
 * Nothing proves that the receipt is genuine: use the id only for a fetch from Apple.
 */
export function transactionOfReceipt(receipt: string): string | null | undefined {
  try {
    const id = transactionIn(Buffer.from(receipt, 'base64'))
    return id === null || /^\d{1,32}$/.test(id) ? id : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
