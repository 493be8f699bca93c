import { createHash, type KeyObject, type X509Certificate } from 'node:crypto'
import { VerificationException, VerificationStatus } from '@apple/app-store-server-library'

/** A verified chain: its signatures and extensions are right. `fromMs`, `toMs`: the time in which all of its certificates are valid. */
export type JudgedChain = { publicKey: KeyObject; fromMs: number; toMs: number }

/** The most chains in the cache: Apple signs with very few chains at a time. */
const MOST_KEPT = 64
/** The most new chains a second: to verify a chain takes 6..9 ms of a processor, and an attacker can send any number of new chains. */
const MOST_NEW_A_SECOND = 100
/** Certificates that were checked online may have been revoked since. */
const ONLINE_MS = 15 * 60_000

export type JudgedChains = {
  /**
   * The verification of a chain; `judge` is called for a chain that has none yet. Throws `RETRYABLE_VERIFICATION_FAILURE` for too many new
   * chains, and the errors of `judge`: bad chains are not cached.
   */
  of(certificates: readonly X509Certificate[], judge: () => Promise<JudgedChain>): Promise<JudgedChain>
}

const nameOf = (certificates: readonly X509Certificate[]): string => {
  const hash = createHash('sha256')
  for (const { raw } of certificates) hash.update(`${raw.length}:`).update(raw)
  return hash.digest('base64')
}

/** The verified chains of one process. `monotonicMs`: only differences between its values count. */
export function judgedChains(onlineChecks: boolean, monotonicMs: () => number = () => performance.now()): JudgedChains {
  const good = new Map<string, JudgedChain & { until: number }>()
  const underWay = new Map<string, Promise<JudgedChain>>()
  let second = Number.NEGATIVE_INFINITY
  let newInSecond = 0

  function count(now: number): void {
    if (now - second >= 1000) {
      second = now
      newInSecond = 0
    }
    if (newInSecond >= MOST_NEW_A_SECOND)
      throw new VerificationException(VerificationStatus.RETRYABLE_VERIFICATION_FAILURE, new Error('too many new chains of certificates'))
    newInSecond += 1
  }

  async function judgeAnew(name: string, judge: () => Promise<JudgedChain>): Promise<JudgedChain> {
    try {
      const chain = await judge()
      good.set(name, { ...chain, until: onlineChecks ? monotonicMs() + ONLINE_MS : Number.POSITIVE_INFINITY })
      if (good.size > MOST_KEPT) good.delete(good.keys().next().value!)
      return chain
    } finally {
      underWay.delete(name)
    }
  }

  return {
    async of(certificates, judge) {
      const now = monotonicMs()
      const name = nameOf(certificates)
      const known = good.get(name)
      if (known && now < known.until) return known
      good.delete(name)
      // Notifications with the same chain that arrive at the same moment wait for one verification.
      const waited = underWay.get(name)
      if (waited) return waited
      count(now)
      const judging = judgeAnew(name, judge)
      underWay.set(name, judging)
      return judging
    },
  }
}
