const nameOf = (name: string) => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** The same value with the names of its fields as the API writes names. */
export const snakeCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(snakeCase)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [nameOf(name), snakeCase(field)]))
}
