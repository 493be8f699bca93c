import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { differingUsers, type FactsOfUser, loadBeside } from './compare.ts'
import { isUsualLength } from './lengths.ts'
import { changeTable, type Stored, transactionTable, userTable } from './tables.ts'
import { addVocabulary, findVocabulary } from './vocabulary.ts'

/** Lengths other than the usual ones: readers need all that occur before they read. They stay. */
async function addLengths(tx: Tx, environment: Environment, all: FactsOfUser[]): Promise<void> {
  const lengths = all.flatMap(({ facts }) => (facts?.changes ?? []).flatMap(({ before, after }) => [before.length, after.length]))
  const others = [...new Set(lengths.filter(length => length !== null && !isUsualLength(length)))]
  if (others.length === 0) return
  await tx.query({
    name: 'add-fact-lengths',
    text: 'insert into fact_lengths (environment, length) select $1, unnest($2::smallint[]) on conflict do nothing',
    values: [environment, others],
  })
}

/**
 * Raises the number by which readers find differences, and locks it until the commit: the order of the numbers is that of the commits. The last
 * lock of a transaction.
 */
export async function nextSeq(tx: Tx, environment: Environment): Promise<number> {
  const { rows } = await tx.query<{ seq: number }>({
    name: 'next-fact-seq',
    text: 'update fact_state set seq = seq + 1 where environment = $1 returning seq',
    values: [environment],
  })
  return rows[0]!.seq
}

/** Locks the state of the facts as `nextSeq` does. */
export async function lockFactState(tx: Tx, environment: Environment): Promise<void> {
  await tx.query('select from fact_state where environment = $1 for no key update', [environment])
}

const idsOf = (rows: Stored[]): string[] => rows.map(({ id }) => id)

/**
 * Writes the facts of users in a generation as the difference to what is stored: equal facts write nothing. The users are locked, and their
 * subscriptions stored. True: something was different.
 */
export async function writeFacts(tx: Tx, environment: Environment, generation: number, all: FactsOfUser[]): Promise<boolean> {
  const { texts, vocabulary, compare } = await loadBeside(tx, environment, generation, all)
  // A text without a number is in no stored row: something is different.
  const before = texts.every(text => vocabulary.has(text)) ? await compare() : null
  if (before && differingUsers(before).size === 0) return false
  const seq = await nextSeq(tx, environment)
  // All numbers are looked up again under the lock: another transaction may have given numbers meanwhile, or removed words that no row had.
  const found = await findVocabulary(tx, environment, texts)
  const fresh = texts.filter(text => !found.has(text))
  for (const [text, no] of await addVocabulary(tx, environment, seq, fresh)) found.set(text, no)
  await addLengths(tx, environment, all)
  const isAsBefore = texts.every(text => vocabulary.get(text) === found.get(text))
  for (const [text, no] of found) vocabulary.set(text, no)
  const { users, gone, transactions, changes } = before && isAsBefore ? before : await compare()
  await userTable.bury(tx, environment, generation, seq, gone)
  await userTable.store(tx, environment, generation, seq, users)
  await transactionTable.bury(tx, environment, generation, seq, idsOf(transactions.buried))
  await transactionTable.add(tx, environment, generation, seq, transactions.added)
  await changeTable.bury(tx, environment, generation, seq, idsOf(changes.buried))
  await changeTable.add(tx, environment, generation, seq, changes.added)
  return true
}
