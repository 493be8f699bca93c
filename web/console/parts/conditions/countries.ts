import type { Option } from '../pick.tsx'

const NAMES = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
/** Codes that are names of no country today, or of none at all. */
const NONE = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ AN BU CS DD FX NH NT QU RH SU TP UK VD YD YU ZR DY HV'.split(' '))

let known: Option[] | undefined

/** All countries by the name that people look for. */
export function countries(): Option[] {
  known ??= LETTERS.flatMap(first => LETTERS.map(second => first + second))
    .flatMap(code => {
      const name = NONE.has(code) ? undefined : NAMES.of(code)
      return name === undefined ? [] : [{ code, label: `${name} (${code})` }]
    })
    .sort((a, b) => a.label.localeCompare(b.label, 'en'))
  return known
}

export function countryText(code: string): string {
  const upper = code.toUpperCase()
  const name = /^[A-Z]{2}$/.test(upper) ? NAMES.of(upper) : undefined
  return name ?? code
}
