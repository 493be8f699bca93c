import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { type Turn, transaction } from '../../../store/transaction.ts'
import { type Condition, segmentIdsIn } from '../../audience/segments/condition.ts'
import { allConditionsMet, withOverrides } from '../../audience/segments/evaluate.ts'
import { loadProfile, type Overrides, type Profile } from '../../audience/segments/profile.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import { noteSeen } from '../../users/last-seen.ts'
import { type Candidates, loadCandidates } from './candidates.ts'
import { type Decision, decide, type NewAssignment } from './decide.ts'

type EvaluationRequest = {
  /** null and '' are the same key; undefined: all keys that have a candidate. */
  keys: (string | null)[] | undefined
  overrides: Overrides
}
type Evaluation = Decision & { context_key: string | null }

/**
 * Decides what the user's app is served and records new assignments. One evaluation uses one snapshot: that of one statement, or of a
 * transaction when conditions need the user's profile. When it assigns the user, it is
 * repeated in a second transaction, which waits for other evaluations of the same user and sees their assignments. The user's row is only
 * written when the answer is decided: otherwise fifty writers of properties would fail the snapshot again and again.
 */
export async function evaluate(pool: Pool, environment: Environment, user: string, request: EvaluationRequest): Promise<Evaluation[]> {
  const decideAll = (tx: Tx) => decided(tx, environment, user, request, conditionsOf)
  let needsProfile = false
  const noProfile = () => async (conditions: Condition[]) => {
    if (conditions.length > 0) needsProfile = true
    return conditions.length === 0
  }
  let { answer, taken, isSeenLate } = await decided(pool, environment, user, request, noProfile)
  if (needsProfile) ({ answer, taken, isSeenLate } = await transaction(pool, decideAll, undefined, 'repeatable read'))
  if (taken.length > 0) {
    const work = async (tx: Tx) => {
      const last = await decideAll(tx)
      if (last.taken.length > 0) await insertAssignments(tx, environment, user, last.taken)
      return last
    }
    const turn: Turn = [LOCK.evaluation, `${environment}:${user}`]
    ;({ answer, isSeenLate } = await transaction(pool, work, undefined, 'repeatable read', turn))
  }
  // After the transaction: it needs no snapshot, and a concurrent writer of the user's properties must not repeat the evaluation.
  if (isSeenLate) await noteSeen(pool, environment, user)
  return answer
}

/** What `evaluate` would decide, in the transaction of a dry run. Records nothing. */
export const evaluateWithin = async (tx: Tx, environment: Environment, user: string, request: EvaluationRequest): Promise<Evaluation[]> =>
  (await decided(tx, environment, user, request, conditionsOf)).answer

/** Whether the user meets conditions, for the decisions of one evaluation. */
type MeetsOf<D> = (db: D, environment: Environment, user: string, found: Candidates, overrides: Overrides) => Parameters<typeof decide>[4]

async function decided<D extends Db>(
  db: D,
  environment: Environment,
  user: string,
  { keys, overrides }: EvaluationRequest,
  meetsOf: MeetsOf<D>,
) {
  const contextKeys = keys?.map(key => key ?? '')
  const found = await loadCandidates(db, environment, user, contextKeys ? [...new Set(contextKeys)] : null)
  const meets = meetsOf(db, environment, user, found, overrides)
  const taken: NewAssignment[] = []
  const decisions = new Map<string, Decision>()
  for (const key of contextKeys ?? allKeys(found)) if (!decisions.has(key)) decisions.set(key, await decide(user, key, found, taken, meets))
  const wanted = keys ?? [...decisions.keys()].map(key => (key === '' ? null : key))
  return {
    answer: wanted.map((context_key): Evaluation => ({ context_key, ...decisions.get(context_key ?? '')! })),
    taken,
    isSeenLate: found.isSeenLate,
  }
}

/** Sorted by code point, '' first: keys are ASCII. */
const allKeys = ({ configurations, experiments }: Candidates) =>
  [...new Set([...configurations, ...experiments].map(({ key }) => key))].sort((a, b) => (a < b ? -1 : 1))

/** Reads the profile at most once, with all segments that the candidates' conditions name. */
function conditionsOf(tx: Tx, environment: Environment, user: string, found: Candidates, overrides: Overrides) {
  let profile: Profile | undefined
  return async (conditions: Condition[]): Promise<boolean> => {
    if (conditions.length === 0) return true
    if (!profile) {
      const all = [...found.configurations, ...found.experiments].flatMap(candidate => candidate.conditions)
      const loaded = await loadProfile(tx, environment, user, segmentIdsIn(all))
      if (!loaded) throw notFound('user')
      profile = withOverrides(loaded, overrides)
    }
    return allConditionsMet(conditions, profile)
  }
}

/** A pin to one of the experiments since the snapshot, or its deletion, is a serialisation failure: the evaluation is then repeated. */
const insertAssignments = (tx: Tx, environment: Environment, user: string, taken: NewAssignment[]) =>
  tx.query({
    name: 'insert-assignments',
    text: `insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
           select $1, t.experiment, $2, t.chosen, environment_now($1) from unnest($3::text[], $4::text[]) t(experiment, chosen)
           on conflict do nothing`,
    values: [environment, user, taken.map(t => t.experiment), taken.map(t => t.group)],
  })
