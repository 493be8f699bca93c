import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import type { FactsOfUser } from './compare.ts'
import { keepErased } from './erased.ts'
import { foldHistory } from './fold.ts'
import type { UserHistory } from './user-history.ts'
import { lockFactState, writeFacts } from './write.ts'

/** Users whose facts cannot be computed, each with the reason. */
export type Unfoldable = { no: number; error: string }

/** The facts of the users that can be folded. The others keep the facts that they have. */
export async function foldHistories(histories: UserHistory[]): Promise<{ folded: FactsOfUser[]; failed: Unfoldable[] }> {
  const folded: FactsOfUser[] = []
  const failed: Unfoldable[] = []
  const step = inSteps()
  for (const history of histories) {
    const { no, id } = history.user
    try {
      folded.push({ no, user: id, facts: await foldHistory(history) })
    } catch (error) {
      failed.push({ no, error: error instanceof Error ? error.message : String(error) })
    }
    await step(1 + history.purchases.length + history.transactions.length)
  }
  return { folded, failed }
}

/** The generations that a fold writes: the one that readers see, and the one that a rebuild has filled up to this user. */
type Generations = { generation: number; building: number | null; folded_to: number }

export async function generationsOf(tx: Tx, environment: Environment): Promise<Generations> {
  const { rows } = await tx.query<Generations>({
    name: 'fact-generations',
    text: 'select generation, building, coalesce(folded_to, 0) as folded_to from fact_state where environment = $1',
    values: [environment],
  })
  return rows[0]!
}

/**
 * Folds the users, whose `histories` were read, and writes the difference to their stored facts. The caller has locked the users. A user without a history does
 * not exist any more and loses the facts. `storing`: stores the users' subscriptions, whose numbers the facts have; the database does so while the
 * facts are computed.
 */
export async function foldUsers(
  tx: Tx,
  environment: Environment,
  numbers: number[],
  histories: UserHistory[],
  storing: Promise<Unfoldable[]> = Promise.resolve([]),
): Promise<Unfoldable[]> {
  const [unstored, { folded, failed: unfolded }] = await Promise.all([storing, foldHistories(histories)])
  const failed = [...new Map([...unstored, ...unfolded].map(one => [one.no, one])).values()]
  const known = new Set(histories.map(({ user }) => user.no))
  const gone = numbers.filter(no => !known.has(no)).map((no): FactsOfUser => ({ no, user: '', facts: null }))
  const all = [...folded, ...gone]
  const { generation, building, folded_to } = await generationsOf(tx, environment)
  await writeFacts(tx, environment, generation, all)
  const rebuilt = all.filter(({ no }) => building !== null && no <= folded_to)
  if (building !== null && rebuilt.length > 0) await writeFacts(tx, environment, building, rebuilt)
  return failed
}

/** Removes the facts of a user who was deleted, and the user's mark. The last writes of the erasing transaction. */
export async function eraseFacts(tx: Tx, environment: Environment, no: number): Promise<void> {
  await tx.query('delete from stale_users where environment = $1 and user_no = $2', [environment, no])
  await tx.query('delete from set_aside_users where environment = $1 and user_no = $2', [environment, no])
  await lockFactState(tx, environment)
  const { generation, building } = await generationsOf(tx, environment)
  await keepErased(tx, environment, generation, no)
  const gone: FactsOfUser[] = [{ no, user: '', facts: null }]
  for (const one of building === null ? [generation] : [generation, building]) await writeFacts(tx, environment, one, gone)
}
