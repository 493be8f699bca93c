import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Tied, tied } from './store-facts/order.ts'
import type { Notice, PeriodStatement, RenewalStatement, Statement, TransactionIds } from './store-facts/statement.ts'

/** A row of `store_statements`. */
type Row = {
  kind: string
  subject: string
  stated_at: number
  tie: string
  sequence: number | null
  origin: string
  said: object
  ids: Partial<TransactionIds> | null
}

function idsOf(statement: Statement): Row['ids'] {
  if (statement.kind === 'period') return statement.ids
  return statement.token === undefined ? null : { token: statement.token }
}

const rowOf = (statement: Tied): Row => ({
  kind: statement.kind,
  subject: statement.subject,
  stated_at: statement.statedAt,
  tie: statement.tie,
  sequence: statement.sequence ?? null,
  origin: statement.origin,
  said: statement.reported,
  ids: idsOf(statement),
})

/** The id of a notice is its tie: a notification that comes twice is stored as one notice. */
const rowOfNotice = ({ slug, id, at, subject }: Notice): Row => ({
  kind: 'notice',
  subject: subject ?? '',
  stated_at: at,
  tie: id,
  sequence: null,
  origin: 'push',
  said: { slug, id },
  ids: null,
})

/**
 * Inserts statements that are not known yet. A statement that is repeated with the same time gets the later sequence. Returns the subjects
 * of the new statements of stores about periods.
 */
export async function insertStatements(
  tx: Tx,
  environment: Environment,
  lineage: number,
  statements: Statement[],
  notices: Notice[],
): Promise<Set<string>> {
  if (statements.length === 0 && notices.length === 0) return new Set()
  const given = [...statements.map(statement => rowOf(tied(statement))), ...notices.map(rowOfNotice)]
  const { rows } = await tx.query<{ kind: string; subject: string; origin: string; is_new: boolean }>({
    name: 'insert-statements',
    text: `insert into store_statements as s (environment, lineage, kind, subject, stated_at, tie, sequence, origin, said, ids)
           select distinct on (kind, subject, stated_at, tie) $1::int, $2::bigint, g.* from jsonb_to_recordset($3::jsonb)
             g(kind text, subject text, stated_at bigint, tie text, sequence bigint, origin text, said jsonb, ids jsonb)
           order by kind, subject, stated_at, tie, sequence desc nulls last
           on conflict (lineage, kind, md5(subject), stated_at, tie) do update set sequence = excluded.sequence
             where excluded.sequence > coalesce(s.sequence, 0)
           returning kind, subject, origin, xmax = 0 as is_new`,
    values: [environment, lineage, JSON.stringify(given)],
  })
  return new Set(
    rows.filter(({ kind, origin, is_new }) => is_new && kind === 'period' && origin !== 'caller').map(({ subject }) => subject),
  )
}

/**
 * Deletes repeated answers of the store about a transaction, between the first and the last of equal content: all periods of a lineage are fetched
 * several times a period. The result is the same in whatever order they were inserted.
 */
export async function pruneAnswers(tx: Tx, lineage: number): Promise<void> {
  await tx.query({
    name: 'prune-answers',
    text: `delete from store_statements s using (
             select subject, tie, min(stated_at) as first, max(stated_at) as last from store_statements
             where lineage = $1 and kind = 'period' and origin = 'api' group by subject, tie having count(*) > 2) r
           where s.lineage = $1 and s.kind = 'period' and s.subject = r.subject and s.tie = r.tie and s.stated_at > r.first and s.stated_at < r.last`,
    values: [lineage],
  })
}

export type LineageStatements = { periods: Tied<PeriodStatement>[]; renewals: Tied<RenewalStatement>[] }

/** All statements of a lineage, without notices. */
export async function readStatements(tx: Tx, lineage: number): Promise<LineageStatements> {
  const { rows } = await tx.query<Row>({
    name: 'read-statements',
    text: `select kind, subject, stated_at, tie, sequence, origin, said, ids from store_statements where lineage = $1 and kind <> 'notice'`,
    values: [lineage],
  })
  const statements = rows.map(({ stated_at, said, ids, ...row }) => {
    const named = row.kind === 'period' ? { ids } : ids?.token && { token: ids.token }
    return { ...row, ...named, statedAt: stated_at, reported: said } as unknown as Tied
  })
  return {
    periods: statements.filter((statement): statement is Tied<PeriodStatement> => statement.kind === 'period'),
    renewals: statements.filter((statement): statement is Tied<RenewalStatement> => statement.kind === 'renewal'),
  }
}
