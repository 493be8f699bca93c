import { Problem } from './errors.ts'

/** `perSecond` 0 switches the limit off. */
export type RateLimit = { perSecond: number; burst: number }

type Bucket = { tokens: number; at: number }

/** The whole numbers of the headers: size, tokens left, seconds until the bucket is full. */
export type Allowance = { limit: number; remaining: number; reset: number }

type Take = (key: string, tokens: 0 | 1) => Allowance | null
/** The buckets of the keys, by kind of key. A named key or a grant has one of its own, of the size of a Secret Key's. */
export type KeyLimits = { secret: Take; project: Take; named: Take; grant: Take }

/**
 * Token buckets of this process, one per key; of more than `mostKeys` the one that was not used for the longest time is forgotten. Throws 429
 * when the bucket has fewer than `tokens` tokens (0 reads without taking); null while the limit is off. `clock`: monotonic, in milliseconds.
 */
export function rateLimiter(
  { perSecond, burst }: RateLimit,
  clock: () => number = () => performance.now(),
  mostKeys = Number.POSITIVE_INFINITY,
): Take {
  const buckets = new Map<string, Bucket>()
  return (key, tokens) => {
    if (perSecond === 0) return null
    const now = clock()
    const bucket = buckets.get(key) ?? { tokens: burst, at: now }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
    bucket.at = now
    // Moves the bucket to the end of the order of use.
    buckets.delete(key)
    if (buckets.size >= mostKeys) buckets.delete(buckets.keys().next().value!)
    buckets.set(key, bucket)
    const taken = bucket.tokens >= tokens
    if (taken) bucket.tokens -= tokens
    const allowance = { limit: burst, remaining: Math.floor(bucket.tokens), reset: Math.ceil((burst - bucket.tokens) / perSecond) }
    if (taken) return allowance
    const retryAfter = Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
    throw new Problem('rate_limit_exceeded', `more than ${perSecond} requests a second; try again in ${retryAfter} s`, {
      headers: { 'Retry-After': String(retryAfter), ...allowanceHeaders(allowance) },
    })
  }
}

export const allowanceHeaders = ({ limit, remaining, reset }: Allowance): Record<string, string> => ({
  'RateLimit-Limit': String(limit),
  'RateLimit-Remaining': String(remaining),
  'RateLimit-Reset': String(reset),
})
