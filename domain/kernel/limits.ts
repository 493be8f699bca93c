// Limits that several parts of the service check.

/** An event or a purchase may lie this far ahead of the environment's clock: the clocks of servers differ. */
export const MAX_AHEAD_MS = 5 * 60_000
export const TOO_FAR_AHEAD = 'lies more than 5 minutes in the future'

/** An event or a purchase that is older than this when it is recorded is history: it is stored, and starts no action. */
export const HISTORY_MS = 72 * 3_600_000
