const DAY_SECONDS = 86_400

/** Seconds of a `Retry-After` header (whole seconds or an HTTP date), cut to 1 s..24 h; null without a readable one. */
export function retryAfterSeconds(header: string | string[] | undefined, now = Date.now()): number | null {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  const seconds = /^\d+$/.test(text) ? Number(text) : (httpDate(text) - now) / 1000
  return Number.isNaN(seconds) ? null : Math.min(DAY_SECONDS, Math.max(1, Math.ceil(seconds)))
}

/** All three forms of RFC 9110 are UTC; the oldest (`Sun Nov  6 08:49:37 1994`) does not say so. */
function httpDate(text: string): number {
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return Number.NaN
  return Date.parse(/ (gmt|utc)$/i.test(text) ? text : `${text} GMT`)
}
