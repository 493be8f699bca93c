import { CliError } from '../failure.ts'

type Piece = { is: 'text'; text: string } | { is: 'column'; name: string } | { is: 'row' }
export type Template = Piece[]

/** The value for a row; undefined leaves the field out. `row` counts from 1. */
export type Fill = (values: string[], row: number) => string | undefined

/** `{column}`, `{#}`, `{{` and `}}` for braces, and text. Throws CliError naming `field`. */
export function parseTemplate(text: string, field: string): Template {
  const pieces: Template = []
  for (const [found] of text.matchAll(/\{\{|\}\}|\{[^{}]*\}|[^{}]+|[{}]/g)) {
    if (found === '{' || found === '}')
      throw new CliError(`the template of ${field} has an unmatched ${found}: ${text} ({{ and }} are braces)`)
    if (found === '{}') throw new CliError(`the template of ${field} has {} without a column: ${text}`)
    if (found === '{#}') pieces.push({ is: 'row' })
    else if (found === '{{' || found === '}}') pieces.push({ is: 'text', text: found[0]! })
    else if (found.startsWith('{')) pieces.push({ is: 'column', name: found.slice(1, -1) })
    else pieces.push({ is: 'text', text: found })
  }
  if (pieces.length === 0) throw new CliError(`the template of ${field} is empty`)
  return pieces
}

export const templateColumns = (template: Template): string[] => template.flatMap(piece => (piece.is === 'column' ? [piece.name] : []))

/** Whether the value is the same for every row. */
export const isConstant = (template: Template): boolean => template.every(piece => piece.is === 'text')

/** Binds the columns to their indexes in a row. */
export function bindTemplate(template: Template, header: string[]): Fill {
  const pieces = template.map(piece => (piece.is === 'column' ? { is: 'value' as const, index: header.indexOf(piece.name) } : piece))
  const mayBeLeftOut = pieces.every(piece => piece.is === 'value')
  return (values, row) => {
    let text = ''
    for (const piece of pieces) {
      if (piece.is === 'text') text += piece.text
      else text += piece.is === 'row' ? row : values[piece.index]
    }
    return text === '' && mayBeLeftOut ? undefined : text
  }
}
