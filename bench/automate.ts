import { compare } from './path/compare.ts'

/** Each event starts an automation run with one webhook step. */
export const bench = () => compare('automate', 'automate', 0)
