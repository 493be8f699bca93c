/** Kind of the promises that deliveries go by; their id is the delivery's number, their destination the integration's. */
export const DELIVERY_DUE = 'delivery'

/** Days for which a delivery is held before it is given up. */
export const HELD_DAYS = 30

/** In SQL: when a delivery made at `created` to integration `i` is due: at once, or held until it expires. */
export const firstDue = (created: string): string =>
  `case when i.active = 1 then ${created} else greatest(i.held_since, ${created}) + interval '${HELD_DAYS} days' end`
