import { compare } from './path/compare.ts'

/** Each event is delivered to one integration. */
export const bench = () => compare('deliver', 'deliver', 0)
