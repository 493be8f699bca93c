// Why no delivery is lost, sent by two workers or sent out of order, whatever happens at the same time:
//
// - An open delivery has a job of its own, and only the worker with the job's lease may send it; or the delivery waits behind another
//   delivery of its ordering key that has a job. A transaction that adds a delivery to an ordering key, or ends the delivery at its head,
//   locks the ordering key first and reads the key's deliveries in a later statement. Of two transactions that add, the second sees the
//   delivery of the first. Of one that adds and one that ends, either the second sees the new delivery and schedules it as next, or the
//   first finds nothing open and inserts a job for its own delivery.
// - The integration's row puts transactions that change its state and transactions that depend on it in order. A transaction that
//   creates deliveries locks the row `for key share` and uses the state that it reads there: a pause, release or deletion comes wholly before
//   or wholly after it. A transaction that suspends deliveries (suspend.ts) does the same: it reads the state again under the lock, so
//   that no delivery is suspended for 30 days right after the release that should have sent it. Whoever changes the state, or ends the
//   probes, takes the row `for update`; a trigger does it for every such update. Attempts lock the row `for no key update`, so they wait for
//   one another (ten failures in a row are counted one by one, across all workers) and for no creator, unless they change the state.
// - A pause writes no delivery. A worker suspends each delivery that it claims, so a pause changes one row however many deliveries are
//   open. A delivery that is being sent at that moment is sent, and its result is recorded.
// - A success reads the integration's row and waits for it only when there are failures to reset. Its time (`last_delivery_at`) is written once
//   a second, unless another transaction has the row. A success that does not see a failure, because that is not committed yet, counts as
//   earlier than the failure.
// - Recording checks the fence under the lock of the job's row, as everywhere. If the delivery was erased or deleted meanwhile, the row
//   is gone and the result of the attempt is dropped.
// - An answer that comes while the database is away stays with its worker, which tries to record it until the database answers.
// - A process that dies between sending and recording leaves a lease that runs out. The delivery is sent again under the same id, and before
//   that the unrecorded attempt is recorded as one (record-lapse.ts): the receiver may have had it. It says nothing about the receiver, so it is
//   neither a failure of the integration nor one of the attempts of the round.

/** Kind of the jobs of deliveries. A job's id is the delivery's number, its destination the integration's number. */
export const DELIVERY_DUE = 'delivery'

/** One attempt to send a delivery. Times are the environment's; `response` has the first 1,024 characters. */
export type DeliveryAttempt = {
  number: number
  started_at: string
  /** Null: the worker ended before the answer was recorded. */
  duration_ms: number | null
  http_status: number | null
  error: string | null
  response: string | null
  /** Fingerprint of the request. The request itself is not stored: the log has its event, and each attempt would store it once more. */
  request?: string
}

/** In SQL: the statuses of an open delivery. */
export const OPEN_DELIVERY = `('pending', 'retrying')`

const KEPT_ATTEMPTS = 20

/** The attempts of a delivery with a new one at the end, numbered; the last 20 are kept. */
export const withAttempt = (
  { attempts, attempt_count }: { attempts: DeliveryAttempt[]; attempt_count: number },
  attempt: Omit<DeliveryAttempt, 'number'>,
): DeliveryAttempt[] => [...attempts, { number: attempt_count + 1, ...attempt }].slice(-KEPT_ATTEMPTS)

/** In SQL: when a delivery created at `created` expires, while integration `i` is not active. */
export const expiry = (created: string): string => `greatest(i.held_since, ${created}) + interval '30 days'`

/** In SQL: when a delivery created at `created` to integration `i` is due: at once, or, while the integration is not active, when it expires. */
export const firstDue = (created: string): string => `case when i.active = 1 then ${created} else ${expiry(created)} end`
