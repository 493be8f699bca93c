import type { Environment } from '../../../kernel/environment.ts'
import type { FactAccess } from '../open-source.ts'
import { withNumber } from './context.ts'
import { factRows } from './fact-rows.ts'
import type { RequestedNumber } from './number.ts'
import { factsAfter, type NumberFact } from './page.ts'

/**
 * The facts of a number, the latest first, one more than the limit. The contributions of each role add up to the number before it is
 * rounded. Throws `upstream_timeout` after 30 s.
 */
export const factsOfNumber = (
  access: FactAccess,
  environment: Environment,
  requested: RequestedNumber,
  { limit, ...options }: { limit: number; after?: string | undefined; recordedFrom?: number | undefined },
): Promise<{ facts: NumberFact[]; restarted: boolean; behind: number }> =>
  withNumber(access, environment, requested, async ({ context, behind }) => ({
    ...(await factsAfter(context, environment, requested, await factRows(context, requested), { limit: limit + 1, ...options })),
    behind,
  }))
