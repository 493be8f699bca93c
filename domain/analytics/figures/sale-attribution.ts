/** The attribution of a sale, by number: it decides the share that a store leaves. */
export const SALE_ATTRIBUTION = { oneTime: 1, loyal: 2, recurring: 3 } as const

/** SQL of Postgres for the number of a transaction. */
export const saleAttributionSql = (row: string): string =>
  `case when ${row}.subscription is null then ${SALE_ATTRIBUTION.oneTime} when ${row}.is_loyal then ${SALE_ATTRIBUTION.loyal} else ${SALE_ATTRIBUTION.recurring} end`
