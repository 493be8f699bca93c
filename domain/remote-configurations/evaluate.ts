import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { type Turn, transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { type Condition, segmentIdsIn } from '../segments/condition.ts'
import { holds, withOverrides } from '../segments/evaluate.ts'
import { loadProfile, type Overrides, type Profile } from '../segments/profile.ts'
import { type Candidates, loadCandidates } from './candidates.ts'
import { decide, type NewAssignment, type Served } from './decide.ts'

export type Question = {
  /** null and '' are the same key; undefined asks for every key there is something for. */
  keys: (string | null)[] | undefined
  overrides: Overrides
  dryRun: boolean
}
export type Evaluated = Served & { context_key: string | null }

/**
 * What the app of the user is served, and the recording of new assignments. All of it sees one snapshot. Who is to be assigned is
 * evaluated anew in turn with other evaluations of the same user, so that it sees their assignments. Nothing here writes the user's row
 * before the answer is decided: fifty writers of properties would fail its snapshot again and again.
 */
export async function evaluate(pool: Pool, environment: Environment, user: string, question: Question): Promise<Evaluated[]> {
  const look = (tx: Tx) => inSnapshot(tx, environment, user, question)
  let { answer, taken, unseen } = await transaction(pool, look, undefined, 'repeatable read')
  if (taken.length > 0 && !question.dryRun) {
    const work = async (tx: Tx) => {
      const decided = await look(tx)
      if (decided.taken.length > 0) await assign(tx, environment, user, decided.taken)
      return decided
    }
    const turn: Turn = [LOCK.evaluation, `${environment}:${user}`]
    ;({ answer, unseen } = await transaction(pool, work, undefined, 'repeatable read', turn))
  }
  if (unseen && !question.dryRun) await seen(pool, environment, user)
  return answer
}

async function inSnapshot(tx: Tx, environment: Environment, user: string, { keys, overrides }: Question) {
  const asked = keys?.map(key => key ?? '')
  const found = await loadCandidates(tx, environment, user, asked ? [...new Set(asked)] : null)
  const meets = audience(tx, environment, user, found, overrides)
  const taken: NewAssignment[] = []
  const served = new Map<string, Served>()
  for (const key of asked ?? allKeys(found)) if (!served.has(key)) served.set(key, await decide(user, key, found, taken, meets))
  const wanted = keys ?? [...served.keys()].map(key => (key === '' ? null : key))
  return {
    answer: wanted.map((context_key): Evaluated => ({ context_key, ...served.get(context_key ?? '')! })),
    taken,
    unseen: found.unseen,
  }
}

/** '' first, then by code point: keys are ASCII. */
const allKeys = ({ configurations, experiments }: Candidates) =>
  [...new Set([...configurations, ...experiments].map(({ key }) => key))].sort((a, b) => (a < b ? -1 : 1))

/** Reads the profile at most once, with all segments that any condition here may name. */
function audience(tx: Tx, environment: Environment, user: string, found: Candidates, overrides: Overrides) {
  let profile: Profile | undefined
  return async (conditions: Condition[]): Promise<boolean> => {
    if (conditions.length === 0) return true
    if (!profile) {
      const all = [...found.configurations, ...found.experiments].flatMap(candidate => candidate.conditions)
      const loaded = await loadProfile(tx, environment, user, segmentIdsIn(all))
      if (!loaded) throw notFound('user')
      profile = withOverrides(loaded, overrides)
    }
    return holds(conditions, profile)
  }
}

/** A pin to one of them since the snapshot, or its deletion, is a serialisation failure: the evaluation is run anew. */
const assign = (tx: Tx, environment: Environment, user: string, taken: NewAssignment[]) =>
  tx.query({
    name: 'assign',
    text: `insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
           select $1, t.experiment, $2, t.chosen, environment_now($1) from unnest($3::text[], $4::text[]) t(experiment, chosen)
           on conflict do nothing`,
    values: [environment, user, taken.map(t => t.experiment), taken.map(t => t.group)],
  })

/** After the transaction: it needs no snapshot, and a writer of the user's properties must not make the evaluation begin anew. */
const seen = (pool: Pool, environment: Environment, user: string) =>
  pool.query({
    name: 'seen',
    text: `update users set last_seen_at = environment_now($1)
           where environment = $1 and id = $2 and last_seen_at <= environment_now($1) - interval '1 second'`,
    values: [environment, user],
  })
