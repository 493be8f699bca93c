import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { CUSTOMER_COLUMNS, type CustomerRow } from './customer.ts'
import { type Direction, SORTS, type Sort, type SortBy } from './order.ts'
import { filters, foundUsers, type Parameters, parameters, type Selection } from './selection.ts'

/** `after`: the id of a customer to go on after; otherwise `offset` rows are skipped. */
export type CustomerPage = { sort: SortBy; direction: Direction; limit: number; offset: number; after: string | undefined }
/** `listing`: connections that plan once. */
export type CustomerDbs = { db: Db; listing: Db }
/** Where the list goes on: the id of a row and the value it has now. */
type Mark = { id: string; value: string | null }

/** One row more than `limit` when there are more; `restarted`: the cursor named nobody, and this is the first page. */
export async function listCustomers(
  { db, listing }: CustomerDbs,
  environment: Environment,
  selection: Selection,
  page: CustomerPage,
): Promise<{ rows: CustomerRow[]; restarted: boolean }> {
  const sort = SORTS[page.sort]
  const mark = page.after === undefined ? undefined : await markAt(listing, environment, page.sort, page.after)
  const restarted = page.after !== undefined && mark === undefined
  const given = parameters(environment)
  if (selection.search !== undefined) {
    const text = searched(sort, page, selection, mark, given)
    return { rows: (await db.query<CustomerRow>(text, given.values)).rows, restarted }
  }
  const text = walked(page.sort, page, selection, mark, given)
  const isPlain = !selection.statuses && !selection.platforms
  // Few statements, always the same, with one sensible plan; with filters the best one depends on how rare they are.
  if (!isPlain) return { rows: (await db.query<CustomerRow>(text, given.values)).rows, restarted }
  const at = mark === undefined ? 'first' : sort.parts(page.direction).findIndex(part => part.holds(mark.value))
  const name = `list-customers-${page.sort}-${page.direction}-${at}`
  return { rows: (await listing.query<CustomerRow>({ name, text, values: given.values })).rows, restarted }
}

// As text: a time that went through the wire's form would have lost its fraction. As a range in order, which one index alone can give:
// for an equality every index of the environment looks the same to a plan made while there was nobody in it.
async function markAt(listing: Db, environment: Environment, sort: SortBy, id: string): Promise<Mark | undefined> {
  const { rows } = await listing.query<Mark>({
    name: `customer-mark-${sort}`,
    text: `select id, (${SORTS[sort].key})::text as value from users
           where environment = $1 and id >= $2 and id <= $2 order by id limit 1`,
    values: [environment, id],
  })
  return rows[0]
}

const beyond = (direction: Direction) => (direction === 'asc' ? '>' : '<')

// Named with its table: a bare name would be that of the output, whose amount is rounded.
const ordered = ({ key }: Sort, direction: Direction) => `order by u.${key} ${direction} nulls last, u.id ${direction}`

/** Whom the search finds, sorted; their number bounds the work. */
function searched(sort: Sort, page: CustomerPage, selection: Selection, mark: Mark | undefined, given: Parameters): string {
  const { direction, limit, offset } = page
  const sign = beyond(direction)
  const from = foundUsers(selection.search!, given)
  const conditions = filters(selection, given, 'u.status')
  const { key, type } = sort
  if (mark && mark.value === null) conditions.push(`u.${key} is null and u.id ${sign} ${given.add(mark.id)}`)
  else if (mark)
    conditions.push(`((u.${key}, u.id) ${sign} (${given.add(mark.value)}::${type}, ${given.add(mark.id)}) or u.${key} is null)`)
  return `select ${CUSTOMER_COLUMNS} from ${from}
    ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
    ${ordered(sort, direction)} limit ${given.add(limit + 1)} offset ${given.add(offset)}`
}

/**
 * Along the indexes of the order, part after part; a part is not touched when those before it fill the page (the parts of an append
 * run in their order; with `order by` around them all would run).
 */
function walked(sortBy: SortBy, page: CustomerPage, selection: Selection, mark: Mark | undefined, given: Parameters): string {
  const { key, type, parts } = SORTS[sortBy]
  const { direction, limit, offset } = page
  const sign = beyond(direction)
  const rows = given.add(limit + 1)
  const skipped = given.add(offset)
  const enough = given.add(limit + 1 + offset)
  const all = parts(direction)
  const first = mark === undefined ? 0 : all.findIndex(part => part.holds(mark.value))
  const after = (isConstant: boolean) => {
    if (isConstant) return `id ${sign} ${given.add(mark!.id)}`
    return `(${key}, id) ${sign} (${given.add(mark!.value)}::${type}, ${given.add(mark!.id)})`
  }
  const branch = (conditions: string[], isConstant: boolean) =>
    `(select * from users where ${['environment = $1', ...conditions].join(' and ')}
      order by ${isConstant ? '' : `${key} ${direction}, `}id ${direction} limit ${enough})`

  let branches: string[]
  let merge = ''
  if (sortBy === 'since' && selection.statuses && !selection.statuses.includes('none')) {
    // Each status has an index by creation; one row in a thousand may be active.
    const rest = [...filters({ ...selection, statuses: undefined }, given), ...(mark ? [after(false)] : [])]
    branches = [...new Set(selection.statuses)].map(status => branch([`status = ${given.add(status)}`, `status <> 'none'`, ...rest], false))
    merge = `order by ${key} ${direction}, id ${direction}`
  } else {
    const conditions = filters(selection, given, sortBy === 'status' ? key : 'status')
    branches = all.slice(first).map((part, i) => {
      const begin = mark !== undefined && i === 0 ? [after(part.isConstant)] : []
      return branch([part.where, ...conditions, ...begin], part.isConstant)
    })
  }
  return `select ${CUSTOMER_COLUMNS}
    from (select * from (${branches.join('\nunion all\n')}) parts ${merge} limit ${rows} offset ${skipped}) u
    ${ordered(SORTS[sortBy], direction)}`
}
