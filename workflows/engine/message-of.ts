const CHARACTERS = 1000

/**
 * An error in words that can be recorded: others' words may hold a NUL or half of a pair, or be cut through a pair, none of which
 * Postgres takes in JSON. An attempt that cannot be recorded would be made again for ever.
 */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll('\0', '').slice(0, CHARACTERS).toWellFormed()
