import jStat from 'jstat'

/** Successes among trials, users or subscriptions. */
export type Proportion = { hits: number; of: number }
/** Mean and sample variance of per-user amounts; `variance` null for fewer than two users. */
export type MeanSample = { n: number; mean: number; variance: number | null }

const MIN = 2
const SIGNIFICANT = 0.05
// Quantiles of the normal distribution for α 0.05, two-sided, and power 0.8.
const Z_ALPHA = 1.959964
const Z_BETA = 0.841621

const bounded = (p: number) => Math.min(1, Math.max(0, p))
export const rateOf = ({ hits, of }: Proportion): number => (of === 0 ? 0 : hits / of)

/** Two-sided p of the two-proportion z-test with pooled variance; null when the data allow no test. */
export function proportionsTest(a: Proportion, b: Proportion): number | null {
  if (a.of < MIN || b.of < MIN) return null
  const pooled = (a.hits + b.hits) / (a.of + b.of)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / a.of + 1 / b.of))
  if (error === 0) return null
  return bounded(2 * jStat.normal.cdf(-Math.abs((rateOf(a) - rateOf(b)) / error), 0, 1))
}

/** Two-sided p of Welch's t-test; null when the data allow no test. */
export function meansTest(a: MeanSample, b: MeanSample): number | null {
  if (a.n < MIN || b.n < MIN || a.variance === null || b.variance === null) return null
  const [left, right] = [a.variance / a.n, b.variance / b.n]
  const error = Math.sqrt(left + right)
  if (error === 0) return null
  const t = (a.mean - b.mean) / error
  const freedom = (left + right) ** 2 / (left ** 2 / (a.n - 1) + right ** 2 / (b.n - 1))
  // Not jstat's own cdf of Student's t: that loses precision from a million degrees of freedom on (1.03 for a p of 0.9992).
  return bounded(jStat.ibeta(freedom / (freedom + t * t), freedom / 2, 0.5))
}

export const isSignificant = (p: number | null): boolean | null => (p === null ? null : p < SIGNIFICANT)

/** The users per group that a test needs to show this difference; null when there is no difference, or a variance is unknown. */
export function sampleSize(a: { mean: number; variance: number | null }, b: { mean: number; variance: number | null }): number | null {
  if (a.variance === null || b.variance === null || a.mean === b.mean) return null
  const size = ((Z_ALPHA + Z_BETA) ** 2 * (a.variance + b.variance)) / (a.mean - b.mean) ** 2
  return Math.min(Math.ceil(size), Number.MAX_SAFE_INTEGER)
}

/** The difference from the control in percent; null when the control's value is 0. */
export const upliftOf = (value: number, control: number): number | null => (control === 0 ? null : ((value - control) / control) * 100)

/** Rounded to two places, half away from zero. */
export const rounded = (value: number): number => (Math.sign(value) * Math.round(Math.abs(value) * 100)) / 100 + 0
