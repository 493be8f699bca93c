import { readFile } from 'node:fs/promises'
import { CliError } from '../failure.ts'

const DESCRIPTION = new URL('../../schemas/generated/openapi.json', import.meta.url)

type Schema = { $ref?: string; properties?: Record<string, Schema>; required?: string[]; additionalProperties?: unknown }

/** The fields that rows may give: paths such as `price` and `device.model`. Below an `open` field any name is allowed. `unit`: what a row becomes. */
export type Fields = { known: Set<string>; open: Set<string>; required: string[]; unit: { one: string; each: string } }

/** The fields of an item of POST /v4/events. Reads them from the description of the API, the only place that defines them. */
export async function itemFields(): Promise<Fields> {
  const { components } = JSON.parse(await readFile(DESCRIPTION, 'utf8')) as { components: { schemas: Record<string, Schema> } }
  const resolved = (schema: Schema): Schema => (schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)!]! : schema)
  const item = resolved({ $ref: '#/EventInput' })
  const known = new Set<string>()
  const open = new Set<string>()
  for (const [name, schema] of Object.entries(item.properties ?? {})) {
    const { properties, additionalProperties } = resolved(schema)
    if (properties) for (const inner of Object.keys(properties)) known.add(`${name}.${inner}`)
    else if (additionalProperties) open.add(name)
    else known.add(name)
  }
  return { known, open, required: item.required ?? [], unit: { one: 'an event', each: 'every event' } }
}

/** `device.model` -> [device, model], `price` -> [price]. The name of a property may contain dots. */
export function pathOf(field: string): [string] | [string, string] {
  const dot = field.indexOf('.')
  return dot < 0 ? [field] : [field.slice(0, dot), field.slice(dot + 1)]
}

export const isOpen = (field: string, { open }: Fields): boolean => {
  const [first, rest] = pathOf(field)
  return open.has(first) && rest !== undefined && rest !== ''
}

export function refuseUnknown(field: string, fields: Fields): void {
  if (fields.known.has(field) || isOpen(field, fields)) return
  const names = [...fields.known, ...[...fields.open].map(name => `${name}.…`)]
  throw new CliError(`there is no field ${JSON.stringify(field)}: ${fields.unit.one} has ${names.join(', ')}`)
}
