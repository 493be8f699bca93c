export type Markup = { path: string; text: string }

/** The texts within a layout that are markup, each with the way to it, in their order. */
export function markupIn(value: unknown, path = 'content'): Markup[] {
  if (typeof value === 'string') return /^\s*<[a-z!]/i.test(value) ? [{ path, text: value }] : []
  if (Array.isArray(value)) return value.flatMap((item, at) => markupIn(item, `${path}[${at}]`))
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([name, item]) => markupIn(item, `${path}.${name}`))
  return []
}

export type Kind = 'json' | 'html'
/** What a piece of a source is: a name, a text, a number or another value, a mark such as a tag, a remark. */
export type Role = 'name' | 'text' | 'value' | 'mark' | 'remark'
export type Piece = { from: number; to: number; role: Role }

const JSON_PIECES = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*/g
/** A name begins where no other letter stands before it, and has an end: a long word is looked at once, not from each of its letters. */
const HTML_PIECES = /<!--[\s\S]*?(?:-->|$)|<\/?[a-z][^\s>/]*|\/?>|(?<![\w:@.-])([\w:@.-]{1,100})(?==["'])|"[^"<]*"|'[^'<]*'/gi

/** The pieces of a source by its structure alone. Beyond `most` of them the rest stays plain. */
export function piecesOf(source: string, kind: Kind, most = 20_000): Piece[] {
  const found: Piece[] = []
  for (const match of source.matchAll(kind === 'json' ? JSON_PIECES : HTML_PIECES)) {
    if (found.length === most) break
    const [text, one, colon] = match
    const from = match.index
    if (kind === 'json') found.push({ from, to: from + (one ?? text).length, role: one === undefined ? 'value' : colon ? 'name' : 'text' })
    else found.push({ from, to: from + text.length, role: htmlRole(text, one) })
  }
  return found
}

function htmlRole(text: string, attribute: string | undefined): Role {
  if (attribute !== undefined) return 'name'
  if (text.startsWith('<!--')) return 'remark'
  return text.startsWith('<') || text.endsWith('>') ? 'mark' : 'text'
}
