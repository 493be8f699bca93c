/** How a transaction is sold, by number: what decides the share that a store leaves. */
export const SOLD_AS = { oneTime: 1, loyal: 2, recurring: 3 } as const

/** SQL of Postgres for the number of a transaction. */
export const soldAsSql = (row: string): string =>
  `case when ${row}.subscription is null then ${SOLD_AS.oneTime} when ${row}.is_loyal then ${SOLD_AS.loyal} else ${SOLD_AS.recurring} end`
