import { figure } from './format.ts'

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `12.4 GB`, by thousands as disks are sold. */
export function bytes(value: number): string {
  const step = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3))
  const shown = value / 1_000 ** step
  return `${figure(shown >= 100 ? Math.round(shown) : Math.round(shown * 10) / 10)} ${UNITS[step]}`
}
