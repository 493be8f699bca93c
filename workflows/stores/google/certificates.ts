import type { Outgoing } from '../../outgoing/outgoing.ts'

const DAY_MS = 24 * 3_600_000
/** The age of certificates without a stated one, and the least time between two requests for an unknown key. */
const MINUTE_MS = 60_000
/** The pause after a failed request: notifications meanwhile cause no further request. */
const REST_MS = 5_000
/** The time of a request: notifications are answered within 5 s. */
const LIMIT_MS = 4_000

/** PEM certificates by key id. */
export type Certificates = Readonly<Record<string, string>>

/** none: never fetched, or too old to be used. If `certificates` lacks `kid`, Google does not know it. */
export type CertificatesFor = { is: 'certificates'; certificates: Certificates } | { is: 'none' }

function certificatesIn(text: string): Certificates | null {
  try {
    const read = Object.entries(JSON.parse(text) as object).filter(([, pem]) => typeof pem === 'string' && pem.startsWith('-----BEGIN'))
    return read.length > 0 ? Object.fromEntries(read) : null
  } catch {
    return null
  }
}

function maxAgeMs(header: string | string[] | undefined): number {
  const seconds = Number(/max-age=(\d+)/i.exec(String(header ?? ''))?.[1] ?? 0)
  return Math.min(DAY_MS, Math.max(MINUTE_MS, seconds * 1000))
}

/**
 * Certificates of Google's ID tokens, cached for the time that Google states. Google publishes a key before it signs with it. For an
 * unknown key the certificates are nevertheless fetched again, at most once a minute, because every caller can name an unknown key. While
 * Google does not answer, the last ones are used for a day.
 */
export function googleCertificates(outgoing: Outgoing, url: string, now: () => number) {
  let kept: { certificates: Certificates; at: number; until: number } | null = null
  let failedAt = Number.NEGATIVE_INFINITY
  let unknownFetchedAt = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | null = null

  async function fetchOnce(): Promise<void> {
    const response = await outgoing.request({ method: 'GET', url, limitMs: LIMIT_MS })
    const certificates = response.is === 'response' && response.status === 200 ? certificatesIn(response.text) : null
    if (response.is !== 'response' || !certificates) {
      failedAt = now()
      return
    }
    kept = { certificates, at: now(), until: now() + maxAgeMs(response.headers?.['cache-control']) }
    failedAt = Number.NEGATIVE_INFINITY
  }

  /** Requests that arrive together share one answer. */
  function fetchShared(): Promise<void> {
    fetching ??= fetchOnce().finally(() => {
      fetching = null
    })
    return fetching
  }

  return async (kid: string): Promise<CertificatesFor> => {
    if ((kept === null || kept.until <= now()) && now() - failedAt >= REST_MS) await fetchShared()
    if (kept && !Object.hasOwn(kept.certificates, kid) && now() - unknownFetchedAt >= MINUTE_MS) {
      unknownFetchedAt = now()
      await fetchShared()
    }
    if (!kept || now() - kept.at > DAY_MS) return { is: 'none' }
    return { is: 'certificates', certificates: kept.certificates }
  }
}
