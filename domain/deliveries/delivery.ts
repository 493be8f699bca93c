// How deliveries keep their promises, whoever does what at the same time.
//
// - An open delivery is in one of two places: it has a `due` row of its own (who holds its lease may send it, nobody else), or it
//   stands in its lane behind the one that has. Whoever adds to a lane, or ends its head, holds the lane's row first and looks at the
//   lane in a later statement: of two that add, the second sees the first one's; of one that adds and one that ends, either the new
//   one is seen and promised as next, or it finds the lane empty and promises itself.
// - The integration's row puts in order who changes its state and who depends on it. Those who make deliveries hold it `for share`
//   with the state they read: a pause, release or deletion comes wholly before or after them. So does whoever puts a held one aside
//   (`park`): it reads the state again under the lock, so that no delivery is put aside for 30 days right after the release that
//   should have let it go. Failed attempts hold it `for no key update`: ten in a row are counted one by one, over all workers.
// - Pausing touches no delivery. Each is put aside when a worker comes to it, so a pause is one row however many are open; one that is
//   being sent at that moment goes out, and is recorded as what it came to.
// - A success looks at the integration's row and locks it only to change it: once a second (`last_delivery_at`), or when there are
//   failures to forget. One that does not see a failure that is not committed yet has come before it.
// - Recording shows the fence under the lock of the `due` row, as everywhere. Erased or deleted meanwhile: the row is gone, and what
//   the attempt came to is dropped with it.
// - A process that dies between sending and recording leaves a lease that runs out; the delivery is sent again under the same id.

/** Kind of the promises that deliveries go by; their id is the delivery's number, their destination the integration's. */
export const DELIVERY_DUE = 'delivery'

/** One try to send it. Times of the environment; `response`: the first 1,024 characters. */
export type Attempt = {
  number: number
  started_at: string
  duration_ms: number
  http_status: number | null
  error: string | null
  response: string | null
}

/** Attempts that are kept. */
export const KEPT_ATTEMPTS = 20

/** In SQL: when a delivery made at `created` is given up, while integration `i` is not active. */
export const expiry = (created: string): string => `greatest(i.held_since, ${created}) + interval '30 days'`

/** In SQL: when a delivery made at `created` to integration `i` is due: at once, or held until it expires. */
export const firstDue = (created: string): string => `case when i.active = 1 then ${created} else ${expiry(created)} end`
