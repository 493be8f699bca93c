import type { Environment } from '../../../kernel/environment.ts'
import type { FactAccess } from '../open-source.ts'
import { withNumber } from './context.ts'
import { factRows } from './fact-rows.ts'
import type { RequestedNumber } from './number.ts'
import { type FactBehind, factsAfter } from './page.ts'

/**
 * The facts behind a number, the latest first, one more than the limit. The contributions of each role add up to the number before it is rounded.
 * Throws `upstream_timeout` after 30 s.
 */
export const factsBehind = (
  access: FactAccess,
  environment: Environment,
  requested: RequestedNumber,
  { limit, ...options }: { limit: number; after?: string | undefined; recordedFrom?: number | undefined },
): Promise<{ facts: FactBehind[]; restarted: boolean; behind: number }> =>
  withNumber(access, environment, requested, async ({ context, behind }) => ({
    ...(await factsAfter(context, environment, requested, await factRows(context, requested), { limit: limit + 1, ...options })),
    behind,
  }))
