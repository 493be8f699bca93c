import { compare } from './path/compare.ts'
import { option } from './report.ts'

/** The same as `automate`, beside runs that wait in a delay. */
export const bench = () => compare('automate-wait', 'automate', option('waiting', 1_000_000))
