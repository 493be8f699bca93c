import type { Detail } from '../domain/kernel/refusal.ts'
import type { OperationDescription } from '../schemas/generated/operations.ts'

type Parameter = OperationDescription['query'][number]

const INTEGER = /^-?\d{1,16}$/
const NUMBER = /^-?\d{1,16}(\.\d+)?$/

/** Converts text to the declared type. Text of another form stays text, and the validator reports it. */
function typed(text: string, type: Parameter['type']): unknown {
  if (type === 'integer' && INTEGER.test(text)) return Number(text)
  if (type === 'number' && NUMBER.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))

/** Converts the query string to values for the validator, and returns the faults that the validator cannot see (repeats, malformed encoding, NUL). */
export function parseQuery(search: string, parameters: readonly Parameter[]): { values: Record<string, unknown>; faults: Detail[] } {
  const values: Record<string, unknown> = {}
  const faults: Detail[] = []
  if (search === '') return { values, faults }
  const known = new Map(parameters.map(parameter => [parameter.name, parameter]))
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const [rawName = '', ...rest] = pair.split('=')
    let name = rawName.slice(0, 256)
    try {
      name = decode(rawName)
      const text = decode(rest.join('='))
      const parameter = known.get(name)
      if (name === '') faults.push({ field: 'query', message: 'holds a value without a name' })
      else if (text.includes('\0')) faults.push({ field: name, message: 'must not hold NUL' })
      else if (parameter?.array) values[name] = [...((values[name] as unknown[]) ?? []), typed(text, parameter.type)]
      else if (Object.hasOwn(values, name)) faults.push({ field: name, message: 'is given more than once' })
      else
        Object.defineProperty(values, name, {
          value: parameter ? typed(text, parameter.type) : text,
          enumerable: true,
          configurable: true,
          writable: true,
        })
    } catch {
      faults.push({ field: name || 'query', message: 'is not valid percent-encoded UTF-8' })
    }
  }
  return { values, faults }
}
