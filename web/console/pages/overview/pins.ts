import { CHARTS } from '../../data/charts.ts'
import { usePreferences, useSetPreferences } from '../../data/session.ts'

/** The figures of somebody who has chosen none. */
const USUAL: readonly string[] = ['mrr', 'active-subscriptions', 'sales', 'proceeds', 'free-trials', 'trial-to-paid', 'refunds', 'arppu']
/** So many charts come in one answer. */
export const MOST_TILES = 12

const KNOWN = new Set(CHARTS.flatMap(({ charts }) => charts.map(({ code }) => code)))
const PIN = 'chart:'

/** The figures that the operator has pinned, in their order; other pins of the operator are left alone. */
export function usePins() {
  const { pins } = usePreferences()
  const { mutate } = useSetPreferences()
  const own = pins.filter(pin => pin.startsWith(PIN)).map(pin => pin.slice(PIN.length))
  const codes = own.filter(code => KNOWN.has(code)).slice(0, MOST_TILES)
  const pinned = codes.length > 0 ? codes : USUAL
  const others = pins.filter(pin => !pin.startsWith(PIN))
  const store = (next: readonly string[]) => mutate({ pins: [...others, ...next.map(code => PIN + code)] })
  return {
    pinned,
    isUsual: codes.length === 0,
    toggle: (code: string) => store(pinned.includes(code) ? pinned.filter(other => other !== code) : [...pinned, code]),
    earlier: (code: string) => store(swapped(pinned, pinned.indexOf(code))),
    reset: () => store([]),
  }
}

/** The list with an element one place earlier. */
function swapped(codes: readonly string[], at: number): string[] {
  const next = [...codes]
  if (at > 0) [next[at - 1], next[at]] = [next[at]!, next[at - 1]!]
  return next
}
