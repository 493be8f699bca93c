import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { flatMapInSteps, inSteps } from '../../kernel/in-steps.ts'
import { addTexts, CHANGE_COLUMNS, type Column, contentOf, type Numbers, TRANSACTION_COLUMNS, USER_COLUMNS } from './columns.ts'
import type { Facts } from './rows.ts'
import { changeTable, type FactRow, type Stored, transactionTable, userTable } from './tables.ts'
import { findVocabulary } from './vocabulary.ts'

/** The facts of a user; null: the user is gone, and so are the facts. */
export type FactsOfUser = { no: number; user: string; facts: Facts | null }

const UNKNOWN_WORD = 0
/** Stands for a word that has no number yet. No row in the tables contains it. */
const NEW_WORD = -1

/** `buried`: rows that are stored and not wanted. `added`: rows that are wanted and not stored. */
type Difference = { buried: Stored[]; added: FactRow[] }

const keyOf = ({ no, content }: FactRow) => `${no}:${content}`

/** Both lists are multisets: of a row that is stored twice and wanted once, one copy is removed. */
async function differenceOf(stored: Stored[], wanted: FactRow[]): Promise<Difference> {
  if (stored.length === 0) return { buried: [], added: wanted }
  const step = inSteps()
  const left = new Map<string, Stored[]>()
  for (const row of stored) {
    const key = keyOf(row)
    const alike = left.get(key)
    if (alike) alike.push(row)
    else left.set(key, [row])
    const pause = step(1)
    if (pause) await pause
  }
  const added = await flatMapInSteps(wanted, row => (left.get(keyOf(row))?.pop() === undefined ? [row] : []))
  return { buried: [...left.values()].flat(), added }
}

/** A row that the fold computes. Its content is written when it is first read: in a first fold, while the database writes the rows before it. */
class WantedRow<T> implements FactRow {
  readonly no: number
  readonly #make: readonly [Column<T>[], T, Numbers]
  #content: string | null = null
  constructor(no: number, columns: Column<T>[], row: T, numbers: Numbers) {
    this.no = no
    this.#make = [columns, row, numbers]
  }
  get content(): string {
    this.#content ??= contentOf(...this.#make)
    return this.#content
  }
}

type Wanted = { users: FactRow[]; transactions: FactRow[]; changes: FactRow[] }

async function rowsOf(all: FactsOfUser[], vocabulary: Map<string, number>, subscriptions: Map<string, number>): Promise<Wanted> {
  const wanted: Wanted = { users: [], transactions: [], changes: [] }
  const step = inSteps()
  for (const { no, facts } of all) {
    if (!facts) continue
    const numbers: Numbers = {
      word: text => (text === null || text === '' ? UNKNOWN_WORD : (vocabulary.get(text) ?? NEW_WORD)),
      subscription: key => (key === null ? null : (subscriptions.get(`${no}|${key}`) ?? 0)),
    }
    wanted.users.push(new WantedRow(no, USER_COLUMNS, facts.user, numbers))
    for (const row of facts.transactions) {
      wanted.transactions.push(new WantedRow(no, TRANSACTION_COLUMNS, row, numbers))
      const pause = step(1)
      if (pause) await pause
    }
    for (const row of facts.changes) {
      wanted.changes.push(new WantedRow(no, CHANGE_COLUMNS, row, numbers))
      const pause = step(1)
      if (pause) await pause
    }
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

/** `users`: the users whose own row is missing or different. `gone`: the users who have a row and no facts. */
type Differences = { users: FactRow[]; gone: number[]; transactions: Difference; changes: Difference }

/** Every text of the facts, in order. */
async function textsOf(all: FactsOfUser[]): Promise<string[]> {
  const texts = new Set<string>()
  const step = inSteps()
  for (const { facts } of all) if (facts) await addTexts(texts, facts, step)
  return [...texts].sort()
}

/**
 * Reads what is stored of users, in five statements. `compare` reads nothing: it may be called again when further numbers of words are known.
 * `texts`: every text of the facts, in order.
 */
export async function loadBeside(tx: Tx, environment: Environment, generation: number, all: FactsOfUser[]) {
  const numbers = all.map(({ no }) => no)
  const texts = await textsOf(all)
  const vocabulary = await findVocabulary(tx, environment, texts)
  const subscriptions = await findSubscriptions(tx, environment, all)
  const stored = {
    users: await userTable.load(tx, environment, generation, numbers),
    transactions: await transactionTable.load(tx, environment, generation, numbers),
    changes: await changeTable.load(tx, environment, generation, numbers),
  }
  async function compare(): Promise<Differences> {
    const wanted = await rowsOf(all, vocabulary, subscriptions)
    const known = new Set(stored.users.map(keyOf))
    const present = new Set(wanted.users.map(({ no }) => no))
    return {
      users: wanted.users.filter(row => !known.has(keyOf(row))),
      gone: stored.users.map(({ no }) => no).filter(no => !present.has(no)),
      transactions: await differenceOf(stored.transactions, wanted.transactions),
      changes: await differenceOf(stored.changes, wanted.changes),
    }
  }
  return { texts, vocabulary, compare }
}

/** The numbers of the users whose stored facts are not those that are wanted. */
export function differingUsers({ users, gone, transactions, changes }: Differences): Set<number> {
  const rows = [users, transactions.buried, transactions.added, changes.buried, changes.added].flat()
  return new Set([...gone, ...rows.map(({ no }) => no)])
}
