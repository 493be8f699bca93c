export type Element = string | number | bigint | boolean | null

/**
 * One column of all records as a Postgres array literal. null when no record has a value: an unnest of several arrays fills the column with
 * nulls. The driver's own conversion of arrays takes a quarter of a worker's time, so the literal is built here.
 */
export function arrayOf<R>(records: readonly R[], value: (record: R) => Element): string | null {
  let literal = '{'
  let hasValue = false
  for (const record of records) {
    const element = value(record)
    if (literal !== '{') literal += ','
    if (element === null) literal += 'NULL'
    else {
      hasValue = true
      literal += typeof element !== 'string' ? element : `"${/["\\]/.test(element) ? element.replace(/["\\]/g, '\\$&') : element}"`
    }
  }
  return hasValue ? `${literal}}` : null
}
