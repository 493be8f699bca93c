const FAR_OFF_MS = 5 * 60_000

/** The time of a store's answer, in ms: the end of the second in its `Date` header; our own time where the store's is absent or far off. */
export function storeTime(header: string | string[] | null | undefined, now: number): number {
  const end = Date.parse(String(header ?? '')) + 999
  return Number.isNaN(end) || Math.abs(end - now) > FAR_OFF_MS ? now : end
}
