import { readFile } from 'node:fs/promises'
import { CliError } from '../failure.ts'
import { type Fields, isOpen, refuseUnknown } from './fields.ts'
import { isConstant, parseTemplate, type Template, templateColumns } from './template.ts'

export type ValueType = 'string' | 'number' | 'boolean'
export type FieldSource = { is: 'template'; template: Template; type: ValueType } | { is: 'constant'; value: number | boolean }
/** The source of each field of an event. */
export type FieldMap = Map<string, FieldSource>

const ASSIGNMENT = /^([a-z_]+(?:\.[^=]*)?)=(.*)$/s
const TYPES: ValueType[] = ['string', 'number', 'boolean']

/** Reads the values of --map in order: files and single assignments. A later value replaces the field. */
export async function readMap(given: string[], fields: Fields): Promise<FieldMap> {
  const map: FieldMap = new Map()
  for (const word of given) {
    const assignment = ASSIGNMENT.exec(word)
    const entries = assignment ? [[assignment[1]!, assignment[2]!] as const] : Object.entries(await readMapFile(word))
    for (const [field, value] of entries) {
      refuseUnknown(field, fields)
      map.set(field, sourceOf(field, value, isOpen(field, fields)))
    }
  }
  const missing = fields.required.filter(field => !map.has(field))
  if (missing.length > 0) throw new CliError(`the map lacks ${missing.join(', ')}: ${fields.unit.each} needs ${fields.required.join(', ')}`)
  const id = map.get('event_id')
  if (id?.is === 'template' && isConstant(id.template)) throw new CliError('event_id is the same for every row: it needs {#} or a column')
  return map
}

async function readMapFile(path: string): Promise<object> {
  const text = await readFile(path, 'utf8').catch(error => {
    throw new CliError(`the map ${path} cannot be read: ${error.message}`)
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new CliError(`the map ${path} is not JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CliError(`the map ${path} must be an object of "field": "template"`)
  return value
}

function sourceOf(field: string, value: unknown, mayBeTyped: boolean): FieldSource {
  if (typeof value === 'string') return { is: 'template', template: parseTemplate(value, field), type: 'string' }
  if (typeof value === 'number' || typeof value === 'boolean') {
    if (!mayBeTyped) throw new CliError(`${field} is a string: put ${value} in quotes`)
    return { is: 'constant', value }
  }
  if (typeof value === 'object' && value !== null && 'template' in value && typeof value.template === 'string') {
    const { template, type = 'string', ...rest } = value as { template: string; type?: ValueType }
    if (!TYPES.includes(type)) throw new CliError(`the type of ${field} must be ${TYPES.join(', ')}`)
    if (type !== 'string' && !mayBeTyped) throw new CliError(`${field} is a string: only properties can be of type ${type}`)
    const unknown = Object.keys(rest)[0]
    if (unknown !== undefined) throw new CliError(`${field} has an unknown key ${JSON.stringify(unknown)} beside template and type`)
    return { is: 'template', template: parseTemplate(template, field), type }
  }
  throw new CliError(`${field} must be a template, or {"template": …, "type": …}${mayBeTyped ? ', a number, true or false' : ''}`)
}

/** Throws when the map uses a column that the file does not have, or has more than once. */
export function refuseOtherColumns(map: FieldMap, header: string[], file: string): void {
  for (const [field, source] of map) {
    for (const column of source.is === 'template' ? templateColumns(source.template) : []) {
      const count = header.filter(name => name === column).length
      if (count === 0)
        throw new CliError(
          `${field} uses the column ${JSON.stringify(column)}, but ${file} has ${header.map(name => JSON.stringify(name)).join(', ')}`,
        )
      if (count > 1) throw new CliError(`${field} uses the column ${JSON.stringify(column)}, which ${file} has ${count} times`)
    }
  }
}
