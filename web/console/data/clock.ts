let ahead = 0

/** Said by the frame whenever the clock of the environment is read: how far it is ahead of real time, in ms. Production has none of its own. */
export const setAhead = (ms: number): void => {
  ahead = ms
}

/** Now in milliseconds, by the clock of the environment that is shown: of what happened in it, nothing else says how long ago that is. */
export const nowHere = (): number => Date.now() + ahead
