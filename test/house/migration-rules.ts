import { statementsOf } from '../../store/sql-statements.ts'

/** What is wrong with a statement, and what to write in its place. */
export type Fault = { statement: string; why: string }

/** The tables with rows for each project, and not for each user, event or job: a statement may write all of their rows. */
const FEW_ROWS = [
  'projects',
  'environments',
  'keys',
  'operators',
  'operator_policy',
  'integrations',
  'products',
  'offerings',
  'screens',
  'segments',
]

const NAME = '(?:public\\.)?"?(\\w+)"?'
const CREATED = new RegExp(`^create (?:unlogged )?table (?:if not exists )?${NAME}`, 'i')
const ALTERED = new RegExp(`^alter table (?:if exists )?(?:only )?${NAME}`, 'i')
const INDEXED = new RegExp(`^create (?:unique )?index (concurrently )?(?:if not exists )?(?:"?\\w+"? )?on (?:only )?${NAME}`, 'i')
const WRITTEN = [
  new RegExp(`\\bupdate (?:only )?${NAME} (?:as )?(?:\\w+ )?set\\b`, 'gi'),
  new RegExp(`\\bdelete from (?:only )?${NAME}`, 'gi'),
]
const COPIES = /\b(?:insert into [\s\S]*?\bselect\b|create (?:unlogged )?table [^()]*\bas\b)/i
const CTE = /(\w+)"? (?:\([^)]*\) )?as (?:(?:not )?materialized )?\(/gi
const VALIDATED = new RegExp(`^alter table ${NAME} validate constraint "?(\\w+)`, 'i')
const DROPPED = /^drop (?:table|(?:materialized )?view|function|procedure|aggregate|trigger|type|domain|sequence|schema|extension|index)\b/i
const NEW_JOB = new RegExp(`\\binsert into ${NAME}`, 'gi')
/** A default that Postgres computes once and not for each row. */
const STABLE_DEFAULT =
  /^(?:now\(\)|current_(?:timestamp|date)|null|true|false|-?[\d.]+|'(?:[^']|'')*'(?:::[\w[\] ]+)?|array\[\](?:::[\w[\] ]+)?)(?=[\s,]|$)/i

const ADD_COLUMN_FIRST = 'add the column without it, fill it by a job, and add the rule as a constraint that is validated later'
const IN_TWO_STEPS = 'add it with "not valid" in one migration, and "validate constraint" in a migration that is "-- online"'
const STILL_USED =
  'processes of the release before still use it: write "-- unread since X.Y.Z" before the statement when no process of that release reads it'
const BY_A_JOB = 'let a job of the workers fill the rows batch by batch, with progress (docs/contributing.md)'

/** The tables that a statement reads: after "from" and "join", and after the commas between them. A function and a CTE are no table. */
function sourcesOf(statement: string): string[] {
  const ctes = [...statement.matchAll(CTE)].map(([, name]) => name!.toLowerCase())
  const plain = statement.replaceAll(/\bdistinct from\b|\b(?:extract|trim|substring|overlay)\s*\([^()]*\)/gi, ' ')
  const sources = [...plain.matchAll(new RegExp(`\\b(?:from|join|using)\\s+(?:only\\s+|lateral\\s+)*${NAME}\\b(?!\\s*\\()`, 'gi'))].map(
    ([, name]) => name!,
  )
  // What stands in brackets has a "from" of its own: the innermost first.
  const scopes: string[] = []
  let rest = plain
  for (let former = ''; former !== rest; ) {
    former = rest
    rest = rest.replaceAll(/\(([^()]*)\)/g, (_, inner: string) => {
      scopes.push(inner)
      return '[]'
    })
  }
  const clauses = [...scopes, rest].flatMap(text => [
    ...text.matchAll(/\bfrom\b([\s\S]*?)(?=\b(?:where|group|order|limit|returning|union|having)\b|\bon conflict\b|$)/gi),
  ])
  for (const [, clause] of clauses)
    for (const part of clause!.split(',').slice(1))
      sources.push(new RegExp(`^\\s*(?:only\\s+)?${NAME}\\b(?!\\s*(?:\\(|\\[\\]))`, 'i').exec(part)?.[1] ?? '')
  return sources.filter(name => name !== '' && !ctes.includes(name.toLowerCase()) && !/^lateral$/i.test(name))
}

/** The body of a function writes nothing when the function is created. */
const withoutBodies = (statement: string) => statement.replaceAll(/(\$\w*\$)[\s\S]*?\1/g, '')

/** The parts between commas that are in no brackets and in no text. */
function partsOf(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const [token] of text.matchAll(/'(?:[^']|'')*'|[\s\S]/g)) {
    depth += token === '(' || token === '[' ? 1 : token === ')' || token === ']' ? -1 : 0
    if (token === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += token
  }
  return parts.map(part => part.trim())
}

function faultOfColumn(part: string): string | undefined {
  const [, fallback] = /\bdefault\s+([\s\S]+)/i.exec(part) ?? []
  if (/\b(?:generated|serial|bigserial|smallserial)\b/i.test(part)) return `it rewrites the table under a lock: ${ADD_COLUMN_FIRST}`
  if (fallback !== undefined && !STABLE_DEFAULT.test(fallback))
    return `a default that is computed for each row rewrites the table under a lock: ${ADD_COLUMN_FIRST}`
  if (/\bnot null\b/i.test(part) && fallback === undefined) return `it fails where there are rows: ${ADD_COLUMN_FIRST}`
  if (/\b(?:check|references|unique|primary key)\b/i.test(part)) return `the whole table is read under a lock: ${ADD_COLUMN_FIRST}`
  return undefined
}

function faultOfConstraint(part: string): string | undefined {
  if (/\bnot valid\b|\busing index\b/i.test(part)) return undefined
  if (/\b(?:foreign key|check)\b/i.test(part)) return `all rows are checked under a lock: ${IN_TWO_STEPS}`
  if (/\b(?:unique|primary key|exclude)\b/i.test(part))
    return 'its index is built under a lock: create the index concurrently in a migration that is "-- online", then "add constraint … using index"'
  return undefined
}

function faultOfAlteration(part: string, table: string, validated: Set<string>): string | undefined {
  if (/^add (?:constraint|foreign key|check|unique|primary key|exclude)\b/i.test(part)) return faultOfConstraint(part)
  if (/^add\b/i.test(part)) return faultOfColumn(part)
  if (/^alter (?:column )?"?\w+"? (?:set data )?type\b/i.test(part))
    return 'it rewrites the table under a lock: add a column of the new type, fill it by a job, read it, and drop the former one in a later release'
  const [, column] = /^alter (?:column )?"?(\w+)"? set not null\b/i.exec(part) ?? []
  if (column !== undefined && !validated.has(`${table}_${column}_not_null`))
    return `the whole table is read under a lock: add "constraint ${table}_${column}_not_null check (${column} is not null) not valid" before, and validate it in the same "-- online" migration`
  if (/^(?:drop (?:column )?(?!constraint)|rename\b)/i.test(part)) return STILL_USED
  if (/^set (?:logged|unlogged|tablespace|access method)\b/i.test(part)) return 'it rewrites the table under a lock'
  return undefined
}

function faultOf(given: string, created: Set<string>, isOnline: boolean, validated: Set<string>): string | undefined {
  if (/^do\b/i.test(given)) return 'what a block does is not looked into: write its statements as they are'
  const statement = withoutBodies(given)
  if (/^(?:vacuum|cluster|reindex|lock|truncate|refresh)\b/i.test(statement)) return 'it locks whole tables'
  const [, concurrently, indexed] = INDEXED.exec(statement) ?? []
  if (indexed !== undefined && !created.has(indexed)) {
    if (!concurrently)
      return 'writers wait until the index is built: "create index concurrently" in a migration whose first line is "-- online"'
    if (!isOnline) return 'nothing is concurrent in a transaction: the first line of the migration must be "-- online"'
    if (/^create (?:unique )?index concurrently (?:if not exists )?on\b/i.test(statement))
      return 'a second attempt finds the index by its name: name it'
  }
  if (DROPPED.test(statement)) return STILL_USED
  const [, altered] = ALTERED.exec(statement) ?? []
  if (altered !== undefined && !created.has(altered)) {
    const parts = partsOf(statement.replace(ALTERED, '').trim())
    const fault = parts.map(part => faultOfAlteration(part, altered, isOnline ? validated : new Set())).find(one => one !== undefined)
    if (fault !== undefined) return fault
  }
  const isLarge = (table: string) => !created.has(table) && !FEW_ROWS.includes(table)
  const withoutTexts = statement.replaceAll(/'(?:[^']|'')*'/g, "''")
  const isTrigger = /^create (?:or replace )?trigger\b/i.test(statement)
  if (!isTrigger && WRITTEN.some(form => [...withoutTexts.matchAll(form)].some(([, table]) => isLarge(table!))))
    return `it may write every row of the table, and holds all of them until the end: ${BY_A_JOB}`
  if ([...withoutTexts.matchAll(NEW_JOB)].some(([, table]) => table === 'due'))
    return 'workers may already have read past the time at which the job is due: let the workers create it'
  const source = COPIES.test(withoutTexts) ? sourcesOf(withoutTexts).find(isLarge) : undefined
  if (source !== undefined) return `it may copy every row of ${source}: ${BY_A_JOB}`
  return undefined
}

/** What an online migration may consist of: a crash begins the file again, so each statement can be applied twice. */
const REPEATABLE =
  /^(?:create (?:unique )?index concurrently|drop index concurrently if exists|alter table \S+ (?:add column if not exists|validate constraint|drop constraint if exists|alter (?:column )?\S+ set not null|alter (?:column )?\S+ drop not null)\b)/i

const UNREAD = /^-- unread since (\d+\.\d+\.\d+)\s*$/m

/** What a migration does to tables that are in use and large. `releases`: the versions that are out. */
export function faultsOf(sql: string, releases: readonly string[]): Fault[] {
  const isOnline = /^-- online\b/.test(sql)
  const statements = statementsOf(sql)
  const created = new Set(statements.flatMap(statement => CREATED.exec(statement)?.[1] ?? []))
  const validated = new Set<string>()
  const since = UNREAD.exec(sql)?.[1]
  const isUnread = since !== undefined && releases.includes(since)
  return statements.flatMap(statement => {
    const mayDrop = isUnread && (DROPPED.test(statement) || /^alter table [\s\S]*\b(?:drop|rename)\b/i.test(statement))
    const why = mayDrop ? undefined : faultOf(statement, created, isOnline, validated)
    const constraint = VALIDATED.exec(statement)?.[2]
    if (constraint !== undefined) validated.add(constraint)
    if (why !== undefined) return [{ statement, why }]
    if (isOnline && !REPEATABLE.test(statement))
      return [
        {
          statement,
          why: 'an interrupted "-- online" migration begins again, and this statement would fail then: put it into a migration of its own',
        },
      ]
    return []
  })
}
