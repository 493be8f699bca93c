import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Page } from '../../kernel/page.ts'
import { conflict, notFound, Refusal } from '../../kernel/refusal.ts'
import { ANNOTATES, annotationOf, type ObjectChange } from './automatic.ts'

/** `at`: Unix seconds. `resource`: the object whose change wrote the annotation; null for an own one. */
export type Annotation = {
  id: string
  at: number
  kind: string
  text: string
  created_at: string
  resource: { kind: string; id: string } | null
}
export type AnnotationInput = { at: number; kind: string; text: string }

const MAX_ANNOTATIONS = 5_000

type OwnRow = Omit<Annotation, 'resource'>
type ChangeRow = Pick<Annotation, 'id' | 'at' | 'created_at'> & ObjectChange
type ListedRow = (OwnRow & { object: null }) | ChangeRow

const secondsOf = (column: string) => `extract(epoch from ${column})::float8`
const OWN_COLUMNS = `id, ${secondsOf('noted_at')} as at, kind, text, created_at`

const own = ({ id, at, kind, text, created_at }: OwnRow): Annotation => ({ id, at, kind, text, created_at, resource: null })

function annotation(row: ListedRow): Annotation {
  if (row.object === null) return own(row)
  const { id, at, created_at, object, object_id } = row
  return { id, at, created_at, ...annotationOf(row), resource: { kind: object, id: object_id } }
}

type AnnotationPage = { from: number | undefined; to: number | undefined; limit: number; after: string | undefined }

/** Where a cursor lies in the list: of an own annotation, or of an entry that annotates. */
const POSITION = `select noted_at as at from analytics_annotations where environment = $1 and id = $2
  union all select created_at from audit_log where environment = $1 and id = $2 and ${ANNOTATES}`

/** Rows of a source, latest first, whose time is the column `at`. */
const source = (columns: string, table: string, at: string, condition = 'true') => `
  (select id, ${at} as at, created_at, ${columns} from ${table} where environment = $1 and ${condition}
     and ($3::float8 is null or ${at} >= to_timestamp($3)) and ($4::float8 is null or ${at} < to_timestamp($4))
     and ($5::timestamptz is null or (${at}, id) < ($5, $6::text))
   order by ${at} desc, id desc limit $2)`

const LIST = `
select id, ${secondsOf('at')} as at, created_at, kind, text, object, object_id, before, after from (
  ${source('kind, text, null as object, null as object_id, null::jsonb as before, null::jsonb as after', 'analytics_annotations', 'noted_at')}
  union all
  ${source('null, null, resource, resource_id, before, after', 'audit_log', 'created_at', ANNOTATES)}
) a order by a.at desc, a.id desc limit $2`

/** Own and automatic ones of the time, latest first. One more than `limit` when there are more. */
export async function listAnnotations(
  db: Db,
  environment: Environment,
  { from, to, limit, after }: AnnotationPage,
): Promise<Page<Annotation>> {
  const position = after === undefined ? undefined : (await db.query<{ at: string }>(POSITION, [environment, after])).rows[0]
  const cursor = position ? [position.at, after] : [null, null]
  const { rows } = await db.query<ListedRow>(LIST, [environment, limit + 1, from ?? null, to ?? null, ...cursor])
  return { rows: rows.map(annotation), restarted: after !== undefined && !position }
}

/** Creations of one environment take turns, so that no two of them count the same annotations. Throws `conflict` above the limit. */
export async function createAnnotation(tx: Tx, environment: Environment, { at, kind, text }: AnnotationInput): Promise<Annotation> {
  await tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.annotations, environment])
  const { rows } = await tx.query<OwnRow>(
    `insert into analytics_annotations (environment, id, noted_at, kind, text, created_at)
     select $1, $2, to_timestamp($3), $4, $5, date_trunc('second', environment_now($1))
     where (select count(*) from analytics_annotations where environment = $1) < $6 returning ${OWN_COLUMNS}`,
    [environment, orderedId('ann'), at, kind, text, MAX_ANNOTATIONS],
  )
  if (!rows[0]) throw conflict(`an environment has at most ${MAX_ANNOTATIONS} annotations of its own`)
  return own(rows[0])
}

/** Throws `control_forbidden` for an automatic one. */
export async function deleteAnnotation(tx: Tx, environment: Environment, id: string): Promise<Annotation> {
  const { rows } = await tx.query<OwnRow>(`delete from analytics_annotations where environment = $1 and id = $2 returning ${OWN_COLUMNS}`, [
    environment,
    id,
  ])
  if (rows[0]) return own(rows[0])
  const entry = await tx.query(`select from audit_log where environment = $1 and id = $2 and ${ANNOTATES}`, [environment, id])
  if (entry.rowCount) throw new Refusal('control_forbidden', 'annotations that wrote themselves cannot be deleted')
  throw notFound('annotation')
}
