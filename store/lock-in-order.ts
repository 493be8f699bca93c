/** In the order of the columns of ids, which is not that of every database: two transactions must not lock the same rows in two orders. */
export const textKeys = (parameter: string): string => `${parameter}::text[] collate "C"`

type LockedRows = {
  table: string
  /** A column that is unique, or unique among the rows of `where`. */
  key: string
  /** An array of keys. */
  keys: string
  /** The selected columns; the key unless given. */
  columns?: string
  /** A further condition, checked on the locked row. */
  where?: string
  strength: string
}

/**
 * In SQL: locks the rows with these keys in the order of the keys, and selects them. One probe of the index for each key: up to Postgres 16
 * `key = any (keys) order by key` takes the index for the order alone and reads every row of the table. A range leaves that one index to a
 * plan that was made while the table was empty.
 */
export const lockInOrder = ({ table, key, keys, columns = key, where, strength }: LockedRows): string =>
  `select l.* from (select distinct k from unnest(${keys}) w(k) order by k) w cross join lateral (
     select ${columns} from ${table} where ${where === undefined ? '' : `${where} and `}${key} >= w.k and ${key} <= w.k order by ${key} limit 1 for ${strength}) l`
