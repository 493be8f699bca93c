const mask = (value: string) => `…${value.slice(-4)}`

/** The object with only the last four characters of those of its fields that are secrets. */
export const maskedFields = (object: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, fields.includes(name) && typeof value === 'string' ? mask(value) : value]),
  )

/**
 * The JSON of an answer as whoever has no Secret Key sees it: of the secrets among its fields, and of those among the fields of its items, only the
 * last four characters. A stored answer is masked when it is sent, so that a replay shows each principal what it may see.
 */
export function masked(body: string, secrets: readonly string[]): string {
  const answer = maskedFields(JSON.parse(body), secrets)
  if (Array.isArray(answer.data)) answer.data = answer.data.map(item => maskedFields(item, secrets))
  return JSON.stringify(answer)
}
