import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { CHANGE_COLUMNS, factValues, type Numbers, TRANSACTION_COLUMNS, textsOf, USER_COLUMNS } from './columns.ts'
import { UNKNOWN_SUBSCRIPTION } from './fold.ts'
import type { Facts } from './rows.ts'
import { changeTable, type Stored, type StoredRow, transactionTable, userTable } from './tables.ts'
import { addWords, findWords } from './words.ts'

/** The facts of a user; null: the user is gone, and so are the facts. */
export type FactsOfUser = { no: number; user: string; facts: Facts | null }

const UNKNOWN_WORD = 0
/** Stands for a word that has no number yet. No row in the tables contains it. */
const NEW_WORD = -1

type Difference = { buried: string[]; added: StoredRow[] }

const sameKey = ({ no, values }: StoredRow) => JSON.stringify([no, values])

/** Both lists as sets with repetition: what is stored and not wanted, and what is wanted and not stored. */
function differenceOf(stored: Stored[], wanted: StoredRow[]): Difference {
  const left = Map.groupBy(stored, sameKey)
  const added = wanted.filter(row => left.get(sameKey(row))?.pop() === undefined)
  return { buried: [...left.values()].flatMap(rows => rows.map(({ id }) => id)), added }
}

type Wanted = { users: StoredRow[]; transactions: StoredRow[]; changes: StoredRow[] }

function rowsOf(all: FactsOfUser[], words: Map<string, number>, subscriptions: Map<string, number>): Wanted {
  const wanted: Wanted = { users: [], transactions: [], changes: [] }
  for (const { no, facts } of all) {
    if (!facts) continue
    const numbers: Numbers = {
      word: text => (text === null || text === '' ? UNKNOWN_WORD : (words.get(text) ?? NEW_WORD)),
      subscription: key => (key === null ? null : key === UNKNOWN_SUBSCRIPTION ? 0 : (subscriptions.get(`${no}|${key}`) ?? 0)),
    }
    wanted.users.push({ no, values: factValues(USER_COLUMNS, facts.user, numbers) })
    for (const row of facts.transactions) wanted.transactions.push({ no, values: factValues(TRANSACTION_COLUMNS, row, numbers) })
    for (const row of facts.changes) wanted.changes.push({ no, values: factValues(CHANGE_COLUMNS, row, numbers) })
  }
  return wanted
}

async function findSubscriptions(tx: Tx, environment: Environment, all: FactsOfUser[]): Promise<Map<string, number>> {
  const { rows } = await tx.query<{ no: number; key: string; id: number }>({
    name: 'fold-subscriptions',
    text: `select k.no, s.platform || '|' || s.lineage as key, s.id from unnest($2::bigint[], $3::text[]) k(no, user_id)
           cross join lateral (select * from subscriptions where environment = $1 and user_id = k.user_id offset 0) s`,
    values: [environment, all.map(({ no }) => no), all.map(({ user }) => user)],
  })
  return new Map(rows.map(({ no, key, id }) => [`${no}|${key}`, id]))
}

/**
 * Raises the number by which readers find differences, and locks it until the commit: the order of the numbers is that of the commits. The last
 * lock of a transaction.
 */
async function nextSeq(tx: Tx, environment: Environment): Promise<number> {
  const { rows } = await tx.query<{ seq: number }>({
    name: 'next-fact-seq',
    text: 'update fact_state set seq = seq + 1 where environment = $1 returning seq',
    values: [environment],
  })
  return rows[0]!.seq
}

/**
 * Writes the facts of users in a generation as the difference to what is stored: equal facts write nothing. The users are locked, and their
 * subscriptions stored. True: something was different.
 */
export async function writeFacts(tx: Tx, environment: Environment, generation: number, all: FactsOfUser[]): Promise<boolean> {
  const numbers = all.map(({ no }) => no)
  const texts = [...new Set(all.flatMap(({ facts }) => (facts ? [...textsOf(facts)] : [])))].sort()
  const words = await findWords(tx, environment, texts)
  const subscriptions = await findSubscriptions(tx, environment, all)
  const stored = {
    users: await userTable.load(tx, environment, generation, numbers),
    transactions: await transactionTable.load(tx, environment, generation, numbers),
    changes: await changeTable.load(tx, environment, generation, numbers),
  }
  const compare = () => {
    const wanted = rowsOf(all, words, subscriptions)
    const known = new Set(stored.users.map(sameKey))
    const present = new Set(wanted.users.map(({ no }) => no))
    return {
      users: wanted.users.filter(row => !known.has(sameKey(row))),
      gone: stored.users.map(({ no }) => no).filter(no => !present.has(no)),
      transactions: differenceOf(stored.transactions, wanted.transactions),
      changes: differenceOf(stored.changes, wanted.changes),
    }
  }
  const different = ({ users, gone, transactions, changes }: ReturnType<typeof compare>) =>
    users.length + gone.length + transactions.buried.length + transactions.added.length + changes.buried.length + changes.added.length > 0
  if (!different(compare())) return false
  const seq = await nextSeq(tx, environment)
  // Found again under the lock: another transaction may have given numbers meanwhile.
  const missing = texts.filter(text => !words.has(text))
  for (const [text, no] of await findWords(tx, environment, missing)) words.set(text, no)
  const fresh = missing.filter(text => !words.has(text))
  for (const [text, no] of await addWords(tx, environment, seq, fresh)) words.set(text, no)
  const { users, gone, transactions, changes } = compare()
  await userTable.bury(tx, environment, generation, seq, gone)
  await userTable.store(tx, environment, generation, seq, users)
  await transactionTable.bury(tx, environment, generation, seq, transactions.buried)
  await transactionTable.add(tx, environment, generation, seq, transactions.added)
  await changeTable.bury(tx, environment, generation, seq, changes.buried)
  await changeTable.add(tx, environment, generation, seq, changes.added)
  return true
}
