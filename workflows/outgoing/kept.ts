const KEPT_CHARACTERS = 1024

/**
 * What is kept of an answer: its first 1,024 characters. Without NUL, which Postgres takes in no text, and without half of a pair
 * where the cut falls, which it takes in no JSON.
 */
export const keptText = (text: string): string => text.replaceAll('\0', '').slice(0, KEPT_CHARACTERS).toWellFormed()
