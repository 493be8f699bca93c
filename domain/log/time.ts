import { micros } from '../events/instant.ts'

/** µs since 1970 of a time of the log as Postgres writes it, `2026-03-01 09:00:00.000123+00`. */
export const logMicros = (text: string): number => micros(`${text.slice(0, 10)}T${text.slice(11).replace(/\+00$/, 'Z')}`)
