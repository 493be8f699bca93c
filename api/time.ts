/** The longest window between two given times: a leap year. */
export const MAX_WINDOW_MS = 366 * 24 * 3600 * 1000

/** A time in whole seconds, as answers give it: `2026-03-01T09:00:00Z`. */
export const wholeSeconds = (time: string | number): string => `${new Date(time).toISOString().slice(0, 19)}Z`

/** The same in Unix seconds, as v3 gives it. */
export const unixSeconds = (time: string | number): number => Math.floor(new Date(time).getTime() / 1000)
