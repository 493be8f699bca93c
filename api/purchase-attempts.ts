import type { Logger } from 'pino'
import type { Environment } from '../domain/kernel/environment.ts'
import { Refusal } from '../domain/kernel/refusal.ts'
import { type AttemptSource, type NewAttempt, recordAttempt } from '../domain/purchases/attempts/attempt.ts'
import { attemptReason } from '../domain/purchases/attempts/reason.ts'
import { CONFIGURATION_OF_STORE } from '../domain/purchases/stores/config.ts'
import { storable } from '../schemas/formats.ts'
import { classifyFailure } from '../store/failures.ts'
import { claimedIn } from './claimed-transaction.ts'
import type { RequestState } from './context.ts'
import { Problem } from './errors.ts'
import type { ApiDeps } from './operation.ts'
import { BodyBrokenOff } from './read-body.ts'
import { SdkProblem } from './sdk/errors.ts'
import { V3Problem } from './v3/errors.ts'

export type AttemptDeps = Pick<ApiDeps, 'pool' | 'turns' | 'metrics'> & { log: Logger }

/** The operations that claim a purchase of a user. Other operations of SDKs claim some beside what they do, one by one. */
const SOURCE: Record<string, AttemptSource> = {
  v4CreatePurchase: 'v4',
  v3CreatePurchase: 'v3',
  sdkCreatePurchase: 'sdk',
  sdkRestorePurchases: 'sdk',
}

const MALFORMED = new Set([400, 413, 415])

/** `isCounted`: without a row. */
type Why = Pick<NewAttempt, 'reason' | 'word'> & { isCounted?: true }

/** Null: the request has failed for another reason than its claim, or its claims have left attempts of their own. */
function reasonOf(error: unknown): Why | null {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof SdkProblem && one.isRecorded) return null
    if (one instanceof Refusal) return attemptReason(one)
  }
  if (error instanceof BodyBrokenOff) return null
  if (error instanceof Problem || error instanceof V3Problem || error instanceof SdkProblem)
    return MALFORMED.has(error.status) ? { reason: 'malformed', word: null } : null
  // A database that is away or overloaded gets no further statement.
  const failure = classifyFailure(error)
  return { reason: 'service_failed', word: null, ...((failure === 'unavailable' || failure === 'timeout') && { isCounted: true }) }
}

/** The answer waits for the record of its claim so long. */
const RECORD_MS = 1_000

/** Waits for the work, but no longer; the work goes on. */
async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

/** Counts a refused claim, and records it where its user exists. A failure to record it is logged, and changes nothing for the caller. */
async function record(
  deps: AttemptDeps,
  environments: Environment[],
  user: string | undefined,
  { isCounted, ...attempt }: NewAttempt & Pick<Why, 'isCounted'>,
): Promise<void> {
  const { platform } = attempt.claimed
  deps.metrics.purchaseRefused(platform === null ? '' : CONFIGURATION_OF_STORE[platform], attempt.reason)
  if (isCounted || user === undefined || !storable(user)) return
  const recorded = deps
    .turns(environments[0]!, false, () => recordAttempt(deps.pool, environments, user, attempt))
    .catch(error => deps.log.warn({ err: error }, 'a refused purchase could not be recorded'))
  await atMost(RECORD_MS, recorded)
}

const NOTHING_CLAIMED = claimedIn(undefined)

/** Records the claim of a request that is answered with an error. Does nothing for other requests. */
export async function recordRefusedRequest(deps: AttemptDeps, state: RequestState, error: unknown): Promise<void> {
  const { operation, owner, match, claimed = NOTHING_CLAIMED, dryRun } = state
  const source = dryRun ? undefined : SOURCE[operation]
  const why = source && owner && reasonOf(error)
  if (!why) return
  // The user of an app is in either environment of the project.
  const environments =
    source === 'v4' || (owner.kind !== 'secret' && owner.kind !== 'project')
      ? [owner.environment]
      : [owner.environment, owner.otherEnvironment]
  const inPath = match.is === 'found' ? match.parameters.user_id : undefined
  await record(deps, environments, inPath ?? state.claimant, { source, claimed, ...why })
}

type ClaimOfApp = { deps: ApiDeps; log: Logger; environment: Environment; user: { id: string } }

/** Records a claim of an SDK that is refused while its request goes on. */
export async function recordRefusedClaim({ deps, log, environment, user }: ClaimOfApp, input: object, problem: SdkProblem): Promise<void> {
  const why = reasonOf(problem)
  if (!why) return
  problem.isRecorded = true
  await record({ ...deps, log }, [environment], user.id, { source: 'sdk', claimed: claimedIn(input), ...why })
}
