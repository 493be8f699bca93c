import type { ImportedScreen } from '../../domain/growth/screens/import.ts'
import { storable } from '../../schemas/formats.ts'

export type Fault = { at: string; why: string }

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown, least: number, most: number): value is string =>
  typeof value === 'string' && value.length >= least && value.length <= most

type Field = { is: (value: unknown) => boolean; must: string; otherwise?: unknown }
const oneOf = (...values: unknown[]): Pick<Field, 'is' | 'must'> => ({
  is: value => values.includes(value),
  must: `be ${values.join(' or ')}`,
})

/** The fields of a screen as the API shows it. `otherwise`: the value of a field that is left out or null; without it the field is required. */
const FIELDS: Record<keyof ImportedScreen, Field> = {
  id: {
    is: value => typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value),
    must: "be 1 to 64 letters, digits, '.', '_' and '-'",
  },
  name: { is: value => isText(value, 1, 256), must: 'be a text of 1 to 256 characters' },
  status: { ...oneOf('draft', 'published'), otherwise: 'draft' },
  type: { ...oneOf('paywall', 'web_flow'), otherwise: null },
  context_key: { is: value => isText(value, 0, 256), must: 'be a text of at most 256 characters', otherwise: null },
  background: { is: value => isText(value, 1, 256), must: 'be a colour of CSS', otherwise: '#FFFFFF' },
  default_lang: { is: value => isText(value, 1, 64), must: 'be a locale', otherwise: 'en' },
  configs: { is: isObject, must: 'be an object', otherwise: {} },
  content: { is: isObject, must: 'be an object', otherwise: {} },
  used: {
    is: value => Array.isArray(value) && value.length <= 1000 && value.every(id => isText(id, 1, 255)),
    must: 'be a list of product ids',
    otherwise: [],
  },
}

const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`)

function screenOf(entry: unknown, at: string, faults: Fault[]): ImportedScreen | undefined {
  if (!isObject(entry)) return void faults.push({ at, why: `must be an object, not ${kindOf(entry)}` })
  const before = faults.length
  const fields = Object.entries(FIELDS).map(([name, { is, must, otherwise }]) => {
    const value = entry[name] ?? undefined
    if (value === undefined && otherwise === undefined) faults.push({ at: `${at}.${name}`, why: 'is required' })
    else if (value !== undefined && !is(value)) faults.push({ at: `${at}.${name}`, why: `must ${must}` })
    else if (value !== undefined && !storable(JSON.stringify(value).replaceAll('\\u0000', '\0')))
      faults.push({ at: `${at}.${name}`, why: 'must hold no NUL and no lone surrogate' })
    return [name, value ?? otherwise]
  })
  return faults.length === before ? (Object.fromEntries(fields) as ImportedScreen) : undefined
}

/** The entries of a file and how the faults name them: by their index, and by their id if they have one. */
function entriesOf(parsed: unknown): { entries: unknown[]; at: (i: number) => string } {
  const isAnswer = isObject(parsed) && !('id' in parsed) && Array.isArray(parsed.data)
  if (!isAnswer && !Array.isArray(parsed)) return { entries: [parsed], at: () => 'screen' }
  const entries: unknown[] = isAnswer ? (parsed.data as unknown[]) : (parsed as unknown[])
  const named = (i: number) => {
    const entry = entries[i]
    return isObject(entry) && isText(entry.id, 1, 64) ? ` (${entry.id})` : ''
  }
  return { entries, at: i => `${isAnswer ? 'data' : ''}[${i}]${named(i)}` }
}

/** The screens of a file: one object, an array of them, or a list as the API answers it. All faults are reported at once; with any of them nothing is imported. */
export function screensIn(text: string): { screens: ImportedScreen[]; faults: Fault[] } {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    return { screens: [], faults: [{ at: 'the file', why: `is no JSON: ${(error as Error).message}` }] }
  }
  const faults: Fault[] = []
  const { entries, at } = entriesOf(parsed)
  if (entries.length === 0) faults.push({ at: 'the file', why: 'has no screen' })
  const seen = new Map<string, number>()
  const screens = entries.flatMap((entry, i) => {
    const screen = screenOf(entry, at(i), faults)
    if (!screen) return []
    const first = seen.get(screen.id)
    if (first !== undefined) faults.push({ at: `${at(i)}.id`, why: `is that of ${at(first)}` })
    else seen.set(screen.id, i)
    return [screen]
  })
  return { screens, faults }
}
