/** Markup that is safe to send: its texts are escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = string | number | Html | readonly Value[] | false | null | undefined

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function shown(value: Value): string {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(shown).join('')
  return value === false || value === null || value === undefined ? '' : String(value).replaceAll(/[&<>"']/g, sign => ENTITIES[sign]!)
}

/** Escapes every value of the template that is not markup itself, also within attributes in double quotes. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(parts.map((part, i) => (i === 0 ? part : shown(values[i - 1]) + part)).join(''))
