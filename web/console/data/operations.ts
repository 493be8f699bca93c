import { OPERATIONS } from 'virtual:operations'
import type { Operations } from '../../../clients/typescript/src/index.ts'
import { addressOf, type Place } from './place.ts'

export type OperationName = keyof Operations

type Argument<Name extends OperationName> =
  Parameters<Operations[Name]> extends [infer Call] | [(infer Call)?] ? Exclude<Call, undefined> : never
/** `path`, `query` and `body` of an operation. */
export type Input<Name extends OperationName> = Omit<Argument<Name>, 'headers' | 'signal'>
export type Result<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>

export type AnyInput = { path?: object; query?: object; body?: unknown }

/** Method and path of an operation, the path filled with the input. */
export function callOf(name: OperationName, input: AnyInput = {}): { method: string; path: string } {
  const [method, template] = (OPERATIONS[name] ?? '').split(' ')
  if (method === undefined || template === undefined) throw new Error(`There is no operation ${name}`)
  const values = (input.path ?? {}) as Record<string, unknown>
  const path = template.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(values[key])))
  return { method, path: `${path}${queryOf(input.query)}` }
}

export const addressOfCall = (place: Place, name: OperationName, input?: AnyInput) => `${addressOf(place)}${callOf(name, input).path}`

function queryOf(query: object = {}): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const item of value) search.append(key, String(item))
    else if (value !== undefined && value !== null && value !== '') search.set(key, String(value))
  }
  return search.size > 0 ? `?${search}` : ''
}
